// Gets the CRDs of operators whose objects the chart creates from their Go modules.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { cachePath, makeOnce } from "../common/cache.ts";
import { versionOf } from "../common/commands.ts";
import { supportFrom, type Support } from "../common/support.ts";
import { inWorkshop } from "../control-plane/build.ts";
import type { ControlPlane } from "../control-plane/index.ts";

interface Operator {
  readonly module: string;
  readonly version: string;
  readonly folder: string;
  readonly files: readonly string[];
}

const OPERATORS: readonly Operator[] = [
  {
    module: "github.com/prometheus-operator/prometheus-operator",
    version: "v0.85.0",
    folder: "example/prometheus-operator-crd",
    files: ["podmonitors", "prometheusrules"].map((name) => `monitoring.coreos.com_${name}.yaml`),
  },
  {
    module: "github.com/cert-manager/cert-manager",
    version: "v1.21.2",
    folder: "deploy/crds",
    files: ["certificates", "issuers"].map((name) => `cert-manager.io_${name}.yaml`),
  },
];
const folder = cachePath(`operators-${OPERATORS.map(({ version }) => version).join("-")}`);

/** Whether the CRDs exist or Go can fetch them. */
export function operatorsSupport(): Support {
  const there = existsSync(folder) || versionOf("go", "version") !== null;
  return supportFrom("definitions of operators", there ? [] : ["there is no go on the path to fetch them"]);
}

export async function prepareOperators(): Promise<string> {
  await makeOnce(folder, (target) =>
    inWorkshop(folder, async (go) => {
      await mkdir(target);
      for (const { module, version, folder: where, files } of OPERATORS) {
        const source = await go.source(module, version);
        for (const file of files) await copyFile(join(source, where, file), join(target, file));
      }
    }),
  );
  return folder;
}

/** Installs the CRDs. Resolves when the API server accepts their objects. */
export async function installOperators(cluster: ControlPlane): Promise<void> {
  const from = await prepareOperators();
  for (const file of readdirSync(from)) await cluster.createYaml(readFileSync(join(from, file), "utf8"));
}
