// Builds one script and one style from `src`, and the licences of what is in them, into the Python
// package. Both files begin with a hash of all sources, which a test compares with the sources.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync, writeFileSync, mkdirSync, existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "src", "placewise", "web");
const OWN = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json"];

const files = (folder) =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });

const sources = [...OWN.map((name) => join(here, name)), ...files(join(here, "src"))]
  .map((path) => relative(here, path).replaceAll("\\", "/"))
  .sort();
const hash = createHash("sha256");
for (const name of sources) {
  hash.update(name + "\0");
  hash.update(readFileSync(join(here, name)));
  hash.update("\0");
}
const banner = `/* Placewise. Sources: sha256 ${hash.digest("hex")}. Licences: LICENSES.txt */`;

const result = await build({
  entryPoints: { placewise: join(here, "src", "main.tsx") },
  outdir: out,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  metafile: true,
  banner: { js: banner, css: banner },
  logLevel: "warning",
});

const packages = new Map();
for (const input of Object.keys(result.metafile.inputs)) {
  const found = input.match(/^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//);
  if (found) packages.set(found[2], found[1]);
}
const licences = [...packages].sort().map(([name, folder]) => {
  const root = existsSync(folder) ? folder : join(here, folder);
  const { version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const file = readdirSync(root).find((f) => /^licen[cs]e/i.test(f));
  const text = file ? readFileSync(join(root, file), "utf8").trim() : "";
  return `${name} ${version} (${license})\n\n${text}\n`;
});
mkdirSync(out, { recursive: true });
const line = "-".repeat(80);
const head = "placewise.js and placewise.css contain these packages.\n";
writeFileSync(join(out, "LICENSES.txt"), [head, ...licences].join(`\n${line}\n\n`));
for (const [path, { bytes }] of Object.entries(result.metafile.outputs)) {
  console.log(`${path}: ${(bytes / 1024).toFixed(0)} KB`);
}
