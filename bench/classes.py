"""Classes of processor that a bench can be held to: ours and every peer, each as it is told."""


def limits(onednn: str, others: str) -> dict[str, str]:
    """Environment: of oneDNN, torch's own operators, MKL and CTranslate2."""
    return {
        "ONEDNN_MAX_CPU_ISA": onednn,
        "ATEN_CPU_CAPABILITY": others.lower(),
        "MKL_ENABLE_INSTRUCTIONS": others,
        "CT2_FORCE_CPU_ISA": others,
    }


CLASSES = {
    "native": {},
    "avx2": limits("AVX2", "AVX2"),
    "avx2_vnni": limits("AVX2_VNNI", "AVX2"),
    "avx512": limits("AVX512_CORE", "AVX512"),
    "avx512_vnni": limits("AVX512_CORE_VNNI", "AVX512"),
    "avx512_bf16": limits("AVX512_CORE_BF16", "AVX512"),
}
