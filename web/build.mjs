// Makes the playground, one file that opens from a disk: node web/build.mjs MODULE.wasm OUT.html
// esbuild joins the scripts, zstd packs the module.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { toLetters } from "./src/letters.js";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = dirname(HERE);
/** The page must load quickly on a phone. */
const MOST_BYTES = 1_200_000;

const [module, out] = process.argv.slice(2);

/** One script, without imports. */
async function joined(entry, format) {
  const made = await build({ entryPoints: [join(HERE, "src", entry)], bundle: true, minify: true, format, target: "es2022", write: false, legalComments: "none" });
  return made.outputFiles[0].text;
}

const text = (path) => readFileSync(join(ROOT, path), "utf8");
const named = (folder, ending) => readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(ending));
const shipped = {
  scenarios: Object.fromEntries(named("scenarios", ".toml").map((name) => [name.slice(0, -5), text(`scenarios/${name}`)])),
  files: Object.fromEntries(named("scenarios/traces", ".rate").map((name) => [name, text(`scenarios/traces/${name}`)])),
};
const parts = {
  style: text("web/node_modules/uplot/dist/uPlot.min.css") + text("web/style.css"),
  version: /^version = "(.*)"/m.exec(text("Cargo.toml"))[1],
  scenarios: JSON.stringify(shipped).replaceAll("<", "\\u003c"),
  module: toLetters(execFileSync("zstd", ["--ultra", "-22", "--stdout", "--quiet", module], { maxBuffer: 1 << 26 })),
  worker: await joined("worker.js", "iife"),
  script: await joined("main.js", "esm"),
};
parts.script = parts.script.replaceAll("</script", "<\\/script");
// The browser runs this script and no other.
parts.hash = `sha256-${createHash("sha256").update(parts.script).digest("base64")}`;
const html = text("web/index.html").replace(/<!--(\w+)-->/g, (_, part) => parts[part].replaceAll("</script", "<\\/script"));
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, html);
console.log(`${out}: ${html.length} bytes (module ${parts.module.length}, scripts ${parts.worker.length + parts.script.length})`);
if (html.length > MOST_BYTES) {
  console.error(`the page has more than ${MOST_BYTES} bytes`);
  process.exit(1);
}
