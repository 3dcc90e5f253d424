import { describe, expect, it } from "vitest";
import { reportExports } from "./exports.ts";
import { ModuleGraph, readModule } from "./modules.ts";

const MANIFESTS = new Map([
  ["packages/a", { name: "@isochrone/a", exports: { ".": "./src/index.ts", "./client": "./src/client.ts" } }],
  ["b", { name: "@isochrone/b" }],
]);

function reportOf(files: Readonly<Record<string, string>>): ReturnType<typeof reportExports> {
  const modules = Object.entries(files).map(([path, text]) => readModule(path, text));
  return reportExports(new ModuleGraph(modules, MANIFESTS));
}

const INDEX = "packages/a/src/index.ts";
const X = "packages/a/src/x.ts";

describe("an entry's names", () => {
  const files = {
    [X]: "export function used(): void {}\nexport const idle = 1;\nexport interface Tested {}\n",
    [INDEX]: 'export { used, idle } from "./x.ts";\nexport type { Tested } from "./x.ts";\n',
    "b/src/b.ts": 'import {\n  used,\n} from "@isochrone/a";\nused();\n',
    "test/a.test.ts": 'import type { Tested } from "@isochrone/a";\n',
  };

  it("are sorted by who uses them", () => {
    expect(reportOf(files)).toEqual({
      entries: [
        { specifier: "@isochrone/a", path: INDEX, names: 3, unused: ["idle"], testsOnly: ["Tested"] },
      ],
      ownFileOnly: [],
    });
  });

  it("are not used by the package's own tests", () => {
    const own = { ...files, "packages/a/src/x.test.ts": 'import { idle } from "./index.ts";\n' };
    expect(reportOf(own).entries[0]?.unused).toEqual(["idle"]);
  });

  it("may serve their own package where the entry is a file of its own", () => {
    const { entries } = reportOf({
      "packages/a/src/client.ts": "export class Client {}\n",
      "packages/a/src/y.ts": 'import { Client } from "./client.ts";\nnew Client();\n',
    });
    expect(entries[0]).toMatchObject({ unused: [], testsOnly: [] });
  });
});

describe("a name that only its own file uses", () => {
  it("is found", () => {
    expect(reportOf({ [X]: "export const a = 1;\nconst b = a;\n" }).ownFileOnly).toEqual([`${X}: a`]);
  });

  it.each([
    ["a dynamic import", 'const { a } = await import("./x.ts");'],
    ["the type of an import", 'let b: import("./x.ts").a;'],
    ["an alias", 'import { a as b } from "./x.ts";'],
    ["a namespace import", 'import * as x from "./x.ts";'],
    ["a program in a text", 'run(`import(${new URL("./x.ts", import.meta.url)}).then(({ a }) => a)`);'],
    ["a worker's address", 'new Worker(new URL("./x.ts", import.meta.url), { type: a });'],
  ])("is used by %s", (_, text) => {
    const { ownFileOnly } = reportOf({ [X]: "export type a = 1;\n", "packages/a/src/y.ts": `${text}\n` });
    expect(ownFileOnly).toEqual([]);
  });

  it("is not used by text in a string", () => {
    const y = "const y = 'import { a } from \"./x.ts\";';\n";
    expect(reportOf({ [X]: "export const a = 1;\n", "packages/a/src/y.ts": y }).ownFileOnly).toEqual([
      `${X}: a`,
    ]);
  });
});
