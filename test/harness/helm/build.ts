import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cachePath, makeOnce } from "../common/cache.ts";
import { versionOf } from "../common/commands.ts";
import { supportFrom, type Support } from "../common/support.ts";
import { inWorkshop } from "../control-plane/build.ts";

const HELM_VERSION = "4.3.1";

const MODULE = "helm.sh/helm/v4";
const helmProgram = cachePath(`helm-${HELM_VERSION}-${process.platform}-${process.arch}`);

/** Whether Helm exists or Go can build it. */
export function helmSupport(): Support {
  const there = existsSync(helmProgram) || versionOf("go", "version") !== null;
  return supportFrom(`Helm ${HELM_VERSION}`, there ? [] : ["there is no go on the path to build it"]);
}

export async function prepareHelm(): Promise<string> {
  await makeOnce(helmProgram, (target) =>
    inWorkshop(helmProgram, async (go) => {
      const { language } = await go.goMod(MODULE, `v${HELM_VERSION}`);
      const lines = [
        "module isochrone.dev/test/helm",
        `go ${language}`,
        `require ${MODULE} v${HELM_VERSION}`,
      ];
      await writeFile(join(go.folder, "go.mod"), `${lines.join("\n")}\n`);
      await go.run("build", "-trimpath", `-ldflags=${linkerFlags()}`, "-o", target, `${MODULE}/cmd/helm`);
    }),
  );
  return helmProgram;
}

/** Without the version, Helm has no default Kubernetes version and reports v4.0. */
function linkerFlags(): string {
  return `-s -w -X ${MODULE}/internal/version.version=v${HELM_VERSION}`;
}
