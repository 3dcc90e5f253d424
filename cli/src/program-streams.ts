import { Option } from "commander";
import type { Command } from "commander";
import { dnsLabel, objectName, readableFile } from "./options.ts";
import {
  caFile,
  commandOf,
  context,
  examples,
  kubeconfig,
  namespace,
  output,
  server,
  tokenFile,
} from "./program-options.ts";
import type { Print } from "./program-options.ts";

const CLUSTER = "read StreamJobs from this cluster instead of the graph API (default: $KUBECONFIG)";
const clusterOrServer = (): Option => server().conflicts(["kubeconfig", "context"]);

export function addStreams(program: Command, print: Print): void {
  const several = (file: string, before: readonly string[] = []): readonly string[] => [
    ...before,
    readableFile(file),
  ];
  const streams = program
    .command("streams")
    .description("list and plan streams: jobs of dependent tasks whose frames cross the network");
  streams
    .command("list", { isDefault: true })
    .description("list the StreamJobs of a cluster: phase, throughput, what limits or delays each")
    .addOption(namespace("only of this namespace"))
    .addOption(clusterOrServer())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(kubeconfig(CLUSTER))
    .addOption(context())
    .addOption(output())
    .action(async (options) => (await import("./commands/stream-jobs.ts")).streamsCommand(options, print));
  streams
    .command("explain")
    .description("say where a StreamJob's tasks and flows are, what limits it, and what it waits for")
    .argument("<name>", "name of the StreamJob", dnsLabel)
    .addOption(namespace("its namespace").default("default"))
    .addOption(clusterOrServer())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(kubeconfig(CLUSTER))
    .addOption(context())
    .addOption(output())
    .action(async (name: string, options) =>
      (await import("./commands/stream-jobs.ts")).explainStreamJob(name, options, print),
    );
  streams
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
  program
    .command("flows")
    .description("print the flows that nodes are told of: rate, achieved rate and route of each")
    .argument("[node]", "only flows that this node sends, forwards or receives", objectName)
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(output())
    .action(async (node: string | undefined, options) =>
      (await import("./commands/stream-jobs.ts")).flowsCommand(node, options, print),
    );
  examples(
    commandOf(program, "streams", "list"),
    "% streams",
    "% streams list --server http://127.0.0.1:9000",
    "% streams list -n site -o json",
  );
  examples(commandOf(program, "streams", "explain"), "% streams explain gate -n site");
  examples(commandOf(program, "streams", "plan"), "% streams plan docs/examples/streams.yaml");
  examples(commandOf(program, "flows"), "% flows", "% flows box -o json");
}
