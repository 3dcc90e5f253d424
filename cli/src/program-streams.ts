import { Option } from "commander";
import type { Command } from "commander";
import { readableFile } from "./options.ts";
import { commandOf, examples, output } from "./program-options.ts";
import type { Print } from "./program-options.ts";

export function addStreams(program: Command, print: Print): void {
  const several = (file: string, before: readonly string[] = []): readonly string[] => [
    ...before,
    readableFile(file),
  ];
  program
    .command("streams")
    .description("plan streams: jobs of dependent tasks whose frames cross the network")
    .command("plan")
    .description(
      "say from files where the tasks of stream jobs should run, how their flows go, and what limits each job",
    )
    .argument("<files...>", "YAML or JSON with nodes, a FlowNetwork and StreamJobs", several)
    .addOption(
      new Option("--strategy <name>", "joint is Isochrone's; otfs, otfa and tp are those of ENTS")
        .choices(["joint", "otfs", "otfa", "tp"])
        .default("joint"),
    )
    .addOption(output())
    .action(async (files: readonly string[], options) =>
      (await import("./commands/streams.ts")).streamsPlanCommand(files, options, print),
    );
  examples(commandOf(program, "streams", "plan"), "% streams plan docs/examples/streams.yaml");
}
