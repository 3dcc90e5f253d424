// Commands that the chart's hooks run. People may, too.
import type { Command } from "commander";
import type { Print } from "./program.ts";

const KUBECONFIG = "the cluster (default: $KUBECONFIG, the pod's own, ~/.kube/config)";

export function addChart(program: Command, print: Print): void {
  program
    .command("crds")
    .description("the definitions of AppGroup and NetworkTopology")
    .command("apply")
    .description("apply the definitions in a folder, unless one would take away what is allowed now")
    .argument("<folder>", "with YAML files, such as the chart's crds")
    .option("--dry-run", "ask the API server, change nothing")
    .option("--kubeconfig <file>", KUBECONFIG)
    .action(async (folder: string, options) =>
      (await import("./commands/crds.ts")).crdsApplyCommand(folder, options, print),
    );
  program
    .command("clean-up")
    .description(
      "delete what the services made by themselves, after an uninstallation: Secrets, Leases, annotations of nodes",
    )
    .option("--system-namespace <name>", "where Isochrone was installed", "isochrone")
    .option("--secret <name>", "the Secret of the probes' keys", "isochrone-probe-keys")
    .option("--prefix <prefix>", "of annotations", "isochrone.dev/")
    .option("--kubeconfig <file>", KUBECONFIG)
    .action(async (options) => (await import("./commands/clean-up.ts")).cleanUpCommand(options, print));
}
