"""The report's CSS: one column, wide things scroll by themselves, readable on a phone.

The shadows that show where more lies lie behind what scrolls, so figures are multiplied with them.
"""

STYLE = """
:root{color-scheme:light}
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:0 1rem 4rem;background:#fff;color:#1a1a1a;
font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:1.7rem;margin:1.2rem 0 .2rem}
h2{font-size:1.35rem;margin:2.4rem 0 .8rem;padding-bottom:.2rem;border-bottom:2px solid #1a1a1a}
h3{font-size:1.1rem;margin:1.6rem 0 .4rem}
nav{position:sticky;top:0;z-index:2;display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:.5rem 0;
background:#fff;border-bottom:1px solid #ccc}
section,article,figure,details{scroll-margin-top:4.5rem}
a{color:#0b5394}
nav a{text-decoration:none}
nav a:hover,nav a:focus{text-decoration:underline}
article{margin-bottom:2.2rem}
.wide{overflow-x:auto;max-width:100%;background:linear-gradient(to right,#fff 30%,#fff0),
linear-gradient(to left,#fff 30%,#fff0) 100% 0,linear-gradient(to right,#0003,#0000),
linear-gradient(to left,#0003,#0000) 100% 0;background-repeat:no-repeat;
background-size:2rem 100%,2rem 100%,.7rem 100%,.7rem 100%;
background-attachment:local,local,scroll,scroll}
.results td:first-child,.results thead th:first-child{position:sticky;left:0;background:#fff}
.results td{white-space:nowrap}
.results td.left{min-width:3em;max-width:14rem;white-space:normal}
.results td,.results th{padding-left:.55em;padding-right:.55em}
figure{margin:0 0 2rem}
figure img{display:block;width:100%;min-width:40rem;max-width:60rem;height:auto}
figure .wide img{mix-blend-mode:multiply}
figcaption,.note{font-size:.9rem;color:#444;max-width:60rem;overflow-wrap:anywhere}
code{font-size:.9em;overflow-wrap:anywhere}
table.plain{border-collapse:collapse;font-size:.9rem;margin:.6rem 0 1rem}
table.plain th,table.plain td{padding:.2rem .7rem;border-bottom:1px solid #ddd;text-align:left;
vertical-align:top}
table.plain code{overflow-wrap:normal}
details{border:1px solid #ccc;border-radius:4px;margin:.5rem 0;padding:.4rem .8rem}
details>summary{cursor:pointer;font-weight:600}
details img{max-width:100%;min-width:32rem;height:auto}
.trees{display:flex;flex-wrap:wrap;gap:0 2rem}
.trees figure{margin:0;max-width:100%}
.example{border-top:1px solid #ddd;margin-top:.8rem}
.example p{margin:.5rem 0 .2rem;font-size:.9rem;color:#444}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem .8rem;margin:.2rem 0 .6rem}
dt{color:#555;font-size:.9rem}
dd{margin:0;overflow-wrap:anywhere}
pre{overflow-x:auto}
@media (max-width:40rem){dl{grid-template-columns:1fr}dt{margin-top:.3rem}
body{padding:0 .7rem 3rem}.results td.left{min-width:6.5rem}
.results td.left:first-child{min-width:3rem}
main>section>figure>.wide::before{content:"scroll sideways →";display:block;position:sticky;
left:0;width:max-content;font-size:.8rem;color:#444}}
@media print{nav{display:none}.wide{overflow:visible}details>*{display:block}}
"""
