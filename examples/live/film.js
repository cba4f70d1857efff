/* film.js PAGE OUT SCENE SECONDS [WIDTH HEIGHT]: the moving picture of the README, from the live page in headless
   Chromium: 25 frames a second of simulated time, without the buttons, as an animated WebP. `make film`. Needs
   Chromium, node and img2webp (Debian: webp). */
"use strict";
const fs = require("fs"), os = require("os"), path = require("path");
const { execFileSync } = require("child_process");
const { Browser, findBrowser, software } = require("../../tests/browser.js");

const [page, out, scene, seconds, width, height] = process.argv.slice(2);
if (!seconds) { console.log("usage: film.js PAGE OUT SCENE SECONDS [WIDTH HEIGHT]"); process.exit(2); }
if (!findBrowser()) { console.log("film.js: chromium was not found (CHROMIUM names another)"); process.exit(1); }

(async () => {
  const b = new Browser(findBrowser(), software), folder = fs.mkdtempSync(path.join(os.tmpdir(), "film-")), frames = [];
  try {
    await b.open(page, "!!window.__live", +(width || 720), +(height || 405));
    await b.run(`__live.setPlaying(false); __live.open(${+scene}); for (const id of ["head", "side", "bar"]) document.getElementById(id).style.display = "none"; 0`);
    const h = await b.run("__live.lib.live_h()");
    for (let t = 0, done = 0; t < +seconds; t += 0.04) {
      for (; done * h < t; done++) if (!(await b.run("__live.lib.live_step()"))) throw new Error(await b.run("__live.broken"));
      const file = path.join(folder, String(frames.length).padStart(4, "0") + ".png");
      fs.writeFileSync(file, await b.picture(null, "frame"));
      frames.push(file);
    }
    execFileSync("img2webp", ["-loop", "0", "-lossy", "-q", "60", "-m", "6", "-d", "40", ...frames, "-o", out]);
    console.log(out + ": " + frames.length + " frames, " + fs.statSync(out).size + " bytes");
  } finally {
    await b.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
})().catch((e) => { console.log("film.js: " + e.message); process.exit(1); });
