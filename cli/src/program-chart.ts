import type { Command } from "commander";
import { annotationPrefix, objectName, readableFolder } from "./options.ts";
import { context, kubeconfig, output, systemNamespace } from "./program-options.ts";
import type { Print } from "./program-options.ts";

const SECRETS: readonly string[] = [
  "isochrone-probe-keys",
  "isochrone-record-keys",
  "isochrone-aggregator-certificates",
  "isochrone-scheduler-plugin-certificates",
  "isochrone-scheduler-plugin-kube-scheduler",
  "isochrone-scheduler-plugin-decisions",
];
const CONFIG_MAPS: readonly string[] = ["isochrone-aggregator-ca", "isochrone-scheduler-plugin-ca"];

export function addChart(program: Command, print: Print): void {
  program
    .command("crds")
    .description("install the CustomResourceDefinitions of AppGroup and NetworkTopology")
    .command("apply")
    .description("apply the definitions in a folder, unless one would forbid what is allowed now")
    .argument("<folder>", "with YAML files, such as the chart's crds", readableFolder)
    .option("--dry-run", "ask the API server, change nothing")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(output())
    .action(async (folder: string, options) =>
      (await import("./commands/crds.ts")).crdsApplyCommand(folder, options, print),
    );
  program
    .command("clean-up")
    .description(
      "after uninstalling, delete what the services created: Secrets, ConfigMaps, Leases, node annotations",
    )
    .addOption(systemNamespace("where Isochrone was installed"))
    .option("--secret <name...>", "Secrets that the services made", namesInPlaceOf(SECRETS), SECRETS)
    .option("--config-map <name...>", "ConfigMaps that they made", namesInPlaceOf(CONFIG_MAPS), CONFIG_MAPS)
    .option("--prefix <prefix>", "of annotations", annotationPrefix, "isochrone.dev/")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(output())
    .action(async (options) => (await import("./commands/clean-up.ts")).cleanUpCommand(options, print));
  program
    .command("release-flows")
    .description("before uninstalling, have all network managers take their rules out of the nodes' kernels")
    .addOption(systemNamespace("where Isochrone is installed"))
    .option("--daemon-set <name>", "of the network managers", objectName, "isochrone-network-manager")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(output())
    .action(async (options) =>
      (await import("./commands/release-flows.ts")).releaseFlowsCommand(options, print),
    );
}

/** Given names replace the defaults, which Commander passes as previous values. */
function namesInPlaceOf(
  defaults: readonly string[],
): (text: string, before: readonly string[]) => readonly string[] {
  return (text, before) => [...(before === defaults ? [] : before), objectName(text)];
}
