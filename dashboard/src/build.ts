// Builds the page: TypeScript and styles in, a few files with hashes in their names out. Run as a program:
// what the build needs in memory is gone with it. `node build.ts FOLDER`.
import { join } from "node:path";
import { build } from "vite";

const [outDir] = process.argv.slice(2);
if (outDir === undefined) throw new Error("build.ts needs the folder to build into");

await build({
  configFile: false,
  root: join(import.meta.dirname, "page"),
  // Relative, so that the page also works behind a proxy that puts a path before it.
  base: "./",
  logLevel: "error",
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2022",
    // A strict content security policy refuses what is written into the document.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  worker: { format: "es" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
