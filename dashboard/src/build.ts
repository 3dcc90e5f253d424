// Builds the page: TypeScript and styles in, hashed files out. A separate program, so that its memory is
// freed. `node build.ts FOLDER`.
import { join } from "node:path";
import { build } from "vite";

const [outDir] = process.argv.slice(2);
if (outDir === undefined) throw new Error("build.ts needs the folder to build into");

await build({
  configFile: false,
  root: join(import.meta.dirname, "page"),
  // Relative, so that the page also works behind a proxy with a path prefix.
  base: "./",
  logLevel: "error",
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2022",
    // A strict content security policy refuses inlined assets.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  worker: { format: "es" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
