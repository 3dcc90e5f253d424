// Commands that the chart's hooks run. People may, too.
import type { Command } from "commander";
import { context, kubeconfig, output } from "./program-options.ts";
import type { Print } from "./program-options.ts";

export function addChart(program: Command, print: Print): void {
  program
    .command("crds")
    .description("the definitions of AppGroup and NetworkTopology")
    .command("apply")
    .description("apply the definitions in a folder, unless one would take away what is allowed now")
    .argument("<folder>", "with YAML files, such as the chart's crds")
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
      "delete what the services made by themselves, after an uninstallation: Secrets, ConfigMaps, Leases, annotations of nodes",
    )
    .option("--system-namespace <name>", "where Isochrone was installed", "isochrone")
    .option("--secret <name...>", "Secrets that the services made", [
      "isochrone-probe-keys",
      "isochrone-record-keys",
      "isochrone-aggregator-certificates",
      "isochrone-scheduler-plugin-certificates",
      "isochrone-scheduler-plugin-kube-scheduler",
      "isochrone-scheduler-plugin-decisions",
    ])
    .option("--config-map <name...>", "ConfigMaps that they made", [
      "isochrone-aggregator-ca",
      "isochrone-scheduler-plugin-ca",
    ])
    .option("--prefix <prefix>", "of annotations", "isochrone.dev/")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(output())
    .action(async (options) => (await import("./commands/clean-up.ts")).cleanUpCommand(options, print));
}
