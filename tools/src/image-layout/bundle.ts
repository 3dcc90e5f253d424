// Bundles a service's modules into one file plus one per lazily loaded part. Node keeps kilobytes per module:
// 35 of the scheduler-plugin's 145 MB were for 1,600 modules.
import { existsSync } from "node:fs";
import http from "node:http";
import { basename, dirname, join, relative, resolve } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import { urlsIn, URLS } from "./trace.ts";

interface BundleOptions {
  readonly root: string;
  readonly entry: string;
  readonly files: ReadonlySet<string>;
  readonly external: readonly string[];
  readonly target: string;
}

/**
 * Writes the bundle to the entry's place. Threads and child processes (`new URL`) become separate programs.
 * Source maps serve --enable-source-maps.
 */
export async function bundle({ root, entry, files, external, target }: BundleOptions): Promise<void> {
  const programs = programsOf(root, entry, files);
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries([...programs].map(([path, name]) => [name, path])),
    platform: "node",
    external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [relocated(root, dirname(entry), programs), withoutFacade, withoutPushgateway],
    logLevel: "silent",
  });
  await build.write({
    dir: join(target, relative(root, dirname(entry))),
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    // V8 keeps program text, at two bytes per character if any is not ASCII. Line breaks stay for stacks.
    comments: false,
    minify: {
      compress: false,
      mangle: false,
      codegen: { removeWhitespace: false, asciiOnly: true },
    },
    sourcemap: true,
    sourcemapExcludeSources: true,
  });
  await build.close();
}

function programsOf(root: string, entry: string, files: ReadonlySet<string>): ReadonlyMap<string, string> {
  const named = [...files].flatMap((file) => urlsIn(file)).filter((path) => path.endsWith(".ts"));
  const names = named.map(
    (path) => [path, relative(root, path).slice(0, -".ts".length).replaceAll("/", "-")] as const,
  );
  return new Map([[entry, basename(entry, ".ts")], ...names]);
}

const HTTP = /^(?:node:)?http$/;
const HTTP_ID = "\0http";
/** Parts of undici, which Node loads on access. */
const OF_UNDICI: ReadonlySet<string> = new Set(["WebSocket", "CloseEvent", "MessageEvent"]);

/** `import` of node:http reads all exports and thus loads undici: five megabytes. This way avoids it. */
const withoutFacade: Plugin = {
  name: "without-facade",
  resolveId: (id, _importer, { kind }) => (HTTP.test(id) && kind !== "require-call" ? HTTP_ID : null),
  load(id) {
    if (id !== HTTP_ID) return null;
    const names = Object.keys(http).filter((name) => !OF_UNDICI.has(name));
    return `const http = process.getBuiltinModule("node:http");
      export default http;
      export const { ${names.join(", ")} } = http;`;
  },
};

/** Removes prom-client's unused push gateway, which loads node:https. */
const withoutPushgateway: Plugin = {
  name: "without-pushgateway",
  load: (id) => (id.endsWith("/prom-client/lib/pushgateway.js") ? "module.exports = class {};" : null),
};

/** Rewrites paths relative to a module to the bundle's location. */
function relocated(root: string, folder: string, programs: ReadonlyMap<string, string>): Plugin {
  return {
    name: "relocated",
    transform(code, id) {
      if (!id.startsWith(root) || id.includes("node_modules") || !code.includes("import.meta.")) return null;
      const here = dirname(id);
      const moved = code
        .replaceAll(URLS, (whole, name: string) => whole.replace(name, placeOf(resolve(here, name)) ?? name))
        .replaceAll("import.meta.dirname", `(import.meta.dirname + "/${relative(folder, here)}")`);
      return { code: moved, map: null };
    },
  };

  function placeOf(path: string): string | null {
    const program = programs.get(path);
    if (program !== undefined) return `./${program}.js`;
    return existsSync(path) ? relative(folder, path) : null;
  }
}
