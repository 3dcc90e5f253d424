import { describe, expect, it } from "vitest";
import { checkArchitecture, type Manifest } from "./architecture.ts";

const manifests = new Map<string, Manifest>([
  ["packages/telemetry", { name: "@isochrone/telemetry", exports: { ".": "./src/index.ts" } }],
  [
    "packages/bus",
    {
      name: "@isochrone/bus",
      exports: {
        ".": "./src/index.ts",
        "./memory": "./src/memory.ts",
        "./testing": "./src/testing/index.ts",
      },
    },
  ],
  [
    "aggregator",
    {
      name: "@isochrone/aggregator",
      dependencies: {
        "@isochrone/bus": "0.1.0",
        "@isochrone/telemetry": "0.1.0",
        "@isochrone/probe": "0.1.0",
      },
    },
  ],
  [
    "probe",
    { name: "@isochrone/probe", exports: { ".": "./src/index.ts" }, dependencies: { koffi: "1.0.0" } },
  ],
]);

const rulesFor = (path: string, text: string): string[] =>
  checkArchitecture([{ path, text }], manifests).map(({ rule }) => rule);

describe("checkArchitecture", () => {
  it("lets a service import the bus by a public entry", () => {
    expect(
      rulesFor("aggregator/src/main.ts", 'import { createMemoryBus } from "@isochrone/bus/memory";\n'),
    ).toEqual([]);
  });

  it("refuses a service that imports another service", () => {
    expect(rulesFor("aggregator/src/main.ts", 'import { createProbe } from "@isochrone/probe";\n')).toEqual([
      "direction",
    ]);
  });

  it("refuses an import that isn't declared in the manifest", () => {
    expect(
      rulesFor(
        "probe/src/index.ts",
        'import { METHODS } from "@isochrone/telemetry";\nimport x from "left-pad";\n',
      ),
    ).toEqual(["declared", "declared"]);
  });

  it("refuses deep imports and imports across a package's wall", () => {
    expect(rulesFor("aggregator/src/a.ts", 'import { x } from "@isochrone/bus/src/port.ts";\n')).toEqual([
      "boundary",
    ]);
    expect(rulesFor("aggregator/src/a.ts", 'import { x } from "../../probe/src/index.ts";\n')).toEqual([
      "boundary",
    ]);
  });

  it("keeps pure packages free of built-ins, clocks and third parties", () => {
    expect(
      rulesFor(
        "packages/telemetry/src/a.ts",
        'import { readFileSync } from "node:fs";\nconst t = Date.now();\n',
      ),
    ).toEqual(["purity", "purity"]);
    expect(rulesFor("packages/telemetry/src/a.test.ts", "const t = Date.now();\n")).toEqual([]);
    expect(rulesFor("packages/telemetry/src/a.ts", "// Date.now() would be impure\n")).toEqual([]);
  });

  it("keeps a service's domain away from adapters and impure packages", () => {
    expect(rulesFor("aggregator/src/domain/a.ts", 'import { x } from "../adapters/http.ts";\n')).toEqual([
      "domain",
    ]);
    expect(rulesFor("aggregator/src/domain/a.ts", 'import { x } from "@isochrone/bus/memory";\n')).toEqual([
      "domain",
    ]);
    expect(
      rulesFor(
        "aggregator/src/domain/a.ts",
        'import { x } from "../ports/ports.ts";\nimport { y } from "@isochrone/telemetry";\n',
      ),
    ).toEqual([]);
  });

  it("keeps the domain of a feature, at any depth, as pure as the shared one", () => {
    const inFeature = (text: string): string[] => rulesFor("aggregator/src/writers/domain/plan/a.ts", text);
    expect(inFeature('import { x } from "../../writer.ts";\n')).toEqual(["domain"]);
    expect(inFeature('import { x } from "../../../ports/leadership.ts";\n')).toEqual(["domain"]);
    expect(inFeature('import { x } from "@isochrone/bus/memory";\n')).toEqual(["domain"]);
    expect(inFeature('import { readFileSync } from "node:fs";\nconst t = Date.now();\n')).toEqual([
      "purity",
      "purity",
    ]);
    expect(
      inFeature(
        'import { x } from "../frame.ts";\nimport { y } from "../../../domain/hash.ts";\nimport { z } from "../../../keys/domain/rotation.ts";\nimport { E } from "../../../ports/errors.ts";\n',
      ),
    ).toEqual([]);
    expect(
      rulesFor("aggregator/src/writers/domain/a.test.ts", 'import { x } from "../writer.ts";\n'),
    ).toEqual([]);
  });

  it("lets a domain hash and read addresses, but not draw randomness or open sockets by the same built-ins", () => {
    expect(
      rulesFor(
        "aggregator/src/domain/a.ts",
        'import { createHmac, timingSafeEqual } from "node:crypto";\nimport { isIP } from "node:net";\n',
      ),
    ).toEqual([]);
    expect(
      rulesFor(
        "aggregator/src/domain/a.ts",
        'import { randomBytes } from "node:crypto";\nimport { connect } from "node:net";\n',
      ),
    ).toEqual(["purity", "purity"]);
  });

  it("keeps product code away from what helps tests", () => {
    for (const specifier of ["@isochrone/bus/testing", "./testing/fakes.ts", "./b.test.ts"]) {
      const text = `import { x } from "${specifier}";\n`;
      expect(rulesFor("aggregator/src/a.ts", text)).toEqual(["testing"]);
      expect(rulesFor("aggregator/src/a.test.ts", text)).toEqual([]);
      expect(rulesFor("aggregator/src/testing/a.ts", text)).toEqual([]);
    }
  });

  it("sees dynamic imports and multi-line imports", () => {
    expect(rulesFor("aggregator/src/a.ts", 'const x = await import("@isochrone/probe");\n')).toEqual([
      "direction",
    ]);
    expect(rulesFor("aggregator/src/a.ts", 'import {\n  a,\n  b,\n} from "@isochrone/probe";\n')).toEqual([
      "direction",
    ]);
  });

  it("refuses export * and files that are too long without a reason", () => {
    expect(rulesFor("probe/src/index.ts", 'export * from "./a.ts";\n')).toEqual(["surface"]);
    expect(rulesFor("probe/src/a.ts", "\n".repeat(450))).toEqual(["length"]);
    expect(
      rulesFor("probe/src/a.ts", `// Longer than 400 lines because it is one table.${"\n".repeat(450)}`),
    ).toEqual([]);
  });
});
