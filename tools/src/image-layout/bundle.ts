// The modules of a service and of the packages that it uses, in one file, and one more for each part that is
// loaded only when it is wanted. Node keeps kilobytes for each module that it loads: of the
// scheduler-plugin's 145 MB 35 were those of 1,600 modules.
import { existsSync } from "node:fs";
import http from "node:http";
import { basename, dirname, join, relative, resolve } from "node:path";
import { rolldown, type Plugin } from "rolldown";
import { urlsIn, URLS } from "./trace.ts";

interface BundleOptions {
  /** Of the repository. */
  readonly root: string;
  /** Absolute path of the service's first module. */
  readonly entry: string;
  /** Absolute paths of all our modules that it may load. */
  readonly files: ReadonlySet<string>;
  /** Packages that stay files of their own, or are not there on purpose. */
  readonly external: readonly string[];
  /** The layout's folder. */
  readonly target: string;
}

/**
 * Writes the bundle to where the entry stands in the layout. What modules name by `new URL`, threads and
 * child processes, are programs of their own beside it. Maps tell lines of the sources, for those who start
 * Node with --enable-source-maps.
 */
export async function bundle({ root, entry, files, external, target }: BundleOptions): Promise<void> {
  const programs = programsOf(root, entry, files);
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries([...programs].map(([path, name]) => [name, path])),
    platform: "node",
    external: (id) => external.some((name) => id === name || id.startsWith(`${name}/`)),
    plugins: [relocated(root, dirname(entry), programs), withoutFacade, withoutPushgateway],
    // Warnings are of packages: modules that name each other, `eval`.
    logLevel: "silent",
  });
  await build.write({
    dir: join(target, relative(root, dirname(entry))),
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
    // V8 keeps the text of each program: two bytes a character where one of them is not of ASCII. Lines stay,
    // for stacks.
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

/** By path, what each program is called beside the entry. */
function programsOf(root: string, entry: string, files: ReadonlySet<string>): ReadonlyMap<string, string> {
  const named = [...files].flatMap((file) => urlsIn(file)).filter((path) => path.endsWith(".ts"));
  const names = named.map(
    (path) => [path, relative(root, path).slice(0, -".ts".length).replaceAll("/", "-")] as const,
  );
  return new Map([[entry, basename(entry, ".ts")], ...names]);
}

const HTTP = /^(?:node:)?http$/;
const HTTP_ID = "\0http";
/** Parts of undici, which Node loads when somebody asks for them. */
const OF_UNDICI: ReadonlySet<string> = new Set(["WebSocket", "CloseEvent", "MessageEvent"]);

/**
 * `import` of node:http reads all that it exports, and so loads undici: five megabytes. Asked for in this way
 * it doesn't.
 */
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

/** Nobody uses this part of prom-client, which loads node:https. */
const withoutPushgateway: Plugin = {
  name: "without-pushgateway",
  load: (id) => (id.endsWith("/prom-client/lib/pushgateway.js") ? "module.exports = class {};" : null),
};

/** Paths that modules make of their own place, made of the bundle's. */
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
