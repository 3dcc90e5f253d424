import { Option, type Command } from "commander";
import {
  dnsLabel,
  duration,
  hostNames,
  httpUrl,
  names,
  namespacedName,
  objectName,
  readableFile,
  relocations,
  scalings,
  slowdowns,
  wholeNumber,
  objectNames,
} from "./options.ts";
import { BILL_SORTS } from "./output/format.ts";
import {
  caFile,
  commandOf,
  context,
  examples,
  kubeconfig,
  lab,
  namespace,
  output,
  server,
  tokenFile,
  watch,
} from "./program-options.ts";
import type { Print } from "./program-options.ts";

export function addGraph(program: Command, print: Print): void {
  program
    .command("graph")
    .description("print the cluster graph and the workflows")
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .option("--workflow <namespace/name>", "only this workflow", namespacedName)
    .addOption(output("dot"))
    .addOption(watch())
    .action(async (options) => (await import("./commands/graph.ts")).graphCommand(options, print));
  program
    .command("explain")
    .description("explain why a pod is on its node, or where a StreamJob runs and what limits it")
    .argument("<pod>", "name of the pod, of its workload, or of a StreamJob", objectName)
    .addOption(namespace("its namespace").default("default"))
    .addOption(
      new Option(
        "--acts",
        "list all that was done with it instead: placements, moves, plans and proposals",
      ).conflicts(["kubeconfig", "context"]),
    )
    .addOption(kubeconfig("also read the pod from this cluster: its node, or why it is pending"))
    .addOption(context())
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(output())
    .addOption(watch())
    .action(async (pod: string, options) =>
      (await import("./commands/explain.ts")).explainCommand(pod, options, print),
    );
  examples(
    commandOf(program, "graph"),
    "% graph",
    "% graph --workflow shop/web -o json",
    "% graph -o dot | dot -Tsvg > graph.svg",
    "% graph --watch 5s",
  );
  examples(
    commandOf(program, "explain"),
    "% explain web-7c9f -n shop",
    "% explain web-7c9f -n shop --kubeconfig ~/.kube/config",
    "% explain web --watch",
    "% explain web -n shop --acts",
  );
}

export function addBill(program: Command, print: Print): void {
  program
    .command("bill")
    .description("say what the traffic between workloads costs in a month, the dearest first")
    .addOption(new Option("--by <what>", "what the lines are").choices(BILL_SORTS).default("channel"))
    .addOption(namespace("only channels that begin or end there, and its workloads"))
    .option("--limit <number>", "so many channels and workloads", wholeNumber(1, 100_000), 1000)
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(output())
    .addOption(watch())
    .action(async (options) => (await import("./bill/bill.ts")).billCommand(options, print));
  program
    .command("savings")
    .description("say what would be saved by keeping traffic in its zone, by moving pods, and by both")
    .argument(
      "[name]",
      "workflow or Service, namespace/name: then also why not, and the commands",
      namespacedName,
    )
    .addOption(namespace("only its workflows and Services"))
    .option("--limit <number>", "so many lines, those that save most", wholeNumber(1, 10_000), 50)
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(output())
    .addOption(watch())
    .action(async (name, options) =>
      (await import("./bill/savings.ts")).savingsCommand(name, options, print),
    );
  examples(commandOf(program, "savings"), "% savings", "% savings shop/api", "% savings -n shop -o json");
  examples(
    commandOf(program, "bill"),
    "% bill",
    "% bill --by destination",
    "% bill -n shop --limit 20 -o json",
  );
}

export function addMcp(program: Command, print: Print): void {
  program
    .command("mcp")
    .description(
      "answer questions of a client of the Model Context Protocol from the graph API; changes nothing",
    )
    .option(
      "--http <port>",
      "listen for HTTP on 127.0.0.1, each client with its own token, instead of reading standard input; 0 = any",
      wholeNumber(0, 65_535),
    )
    .option(
      "--allow-host <name>",
      "another host name, or name:port, that clients may use, such as a proxy's; repeatable",
      hostNames,
      [],
    )
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .action(async (options) => (await import("./mcp/mcp.ts")).mcpCommand(options, print));
  examples(
    commandOf(program, "mcp"),
    "% mcp --server https://graph.example:8080 --ca-file ca.pem --token-file token",
    "% mcp --http 7420",
  );
}

const objective = (): Option =>
  new Option("--objective <what>", "what plans save; default: that of the settings").choices([
    "latency",
    "money",
    "weighted",
  ] as const);

const podNames = (text: string): readonly string[] =>
  text.split(",").reduce<readonly string[]>((names, name) => objectNames(name.trim(), names), []);

/** Longer searches find nothing more. */
const MAX_SEARCH_MS = 10 * 60_000;

export function addPlan(program: Command, print: Print): void {
  program
    .command("plan")
    .description(
      "print the cost of a namespace's workflows, the cost of the best plans, and the moves to get there; carry them out or undo that",
    )
    .argument("<namespace>", "whose workflows", dnsLabel)
    .option("--workflow <name>", "only this one")
    .option("--apply", "make the moves that can be made now, one after the other; stops at the first failure")
    .option("--undo", "move back the pods that the last --apply has moved")
    .option("--pods <names>", "with --apply: only these pods, separated by commas", podNames)
    .option("--yes", "don't ask before pods are moved")
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(lab())
    .addOption(
      duration("--time <duration>", "time for each workflow's search", 0, MAX_SEARCH_MS).default(2_000, "2s"),
    )
    .option("--seed <number>", "seed of the search", wholeNumber(0, 2 ** 31), 1)
    .option(
      "--settings <file>",
      "the scheduler-plugin's settings: limits and costs are those of its planner",
      readableFile,
    )
    .addOption(objective())
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(output())
    .addOption(watch())
    .action(async (namespace: string, options) =>
      options.apply === true || options.undo === true
        ? (await import("./moves/apply.ts")).applyCommand(namespace, options, print)
        : (await import("./commands/plan.ts")).planCommand(namespace, options, print),
    );
  examples(
    commandOf(program, "plan"),
    "% plan default                                     # of `% up`",
    "% plan shop --server http://127.0.0.1:8080 --kubeconfig ~/.kube/config",
    "% plan shop --watch 30s -o json",
    "% plan shop --workflow web --apply",
    "% plan shop --undo --yes",
  );
}

export function addWhatIf(program: Command, print: Print): void {
  program
    .command("what-if")
    .description("say what a change would make of placement, latency and bill; changes nothing")
    .option("--drain <node>", "this node is gone; repeatable", names, [])
    .option("--lose-zone <zone>", "all nodes of this zone are gone; repeatable", names, [])
    .option("--scale <workload=n>", "namespace/name=replicas of a workload; repeatable", scalings, [])
    .option(
      "--move <pod=node>",
      "namespace/pod=node: this pod is on that node, and stays there; repeatable",
      relocations,
      [],
    )
    .option(
      "--slow <a:b=change>",
      "links between two nodes or zones take +10ms more, or x1.5 as long; repeatable",
      slowdowns,
      [],
    )
    .option("--prices <file>", "other prices of traffic, beside those that are built in", readableFile)
    .addOption(objective())
    .addOption(namespace("only workflows of this namespace (default: all)"))
    .option("--cluster <file>", "the cluster's objects, as kubectl prints them; with --graph", readableFile)
    .option("--graph <file>", "its graphs, as `graph -o json` prints them; with --cluster", readableFile)
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(lab())
    .addOption(
      duration("--time <duration>", "time for each workflow's search", 0, MAX_SEARCH_MS).default(1_000, "1s"),
    )
    .option("--seed <number>", "seed of the search", wholeNumber(0, 2 ** 31), 1)
    .option(
      "--settings <file>",
      "the scheduler-plugin's settings: limits and costs are those of its planner",
      readableFile,
    )
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(output())
    .action(async (options) => (await import("./what-if/what-if.ts")).whatIfCommand(options, print));
  examples(
    commandOf(program, "what-if"),
    "% what-if --drain west-a-1                         # of `% up`",
    "% what-if --move default/m4-6d5f=east-a-1",
    "% what-if --lose-zone us-east-1a --scale shop/web=5 -o json",
    "% what-if --slow us-east-1a:us-east-1b=+10ms --objective money",
    "% what-if --cluster dump.json --graph graph.json --prices prices.yaml",
  );
}

const DEFAULT_DISPATCHER = "http://127.0.0.1:7416";

export function addDispatch(program: Command, print: Print): void {
  const dispatch = program.command("dispatch").description("say how the requests of Services are spread");
  dispatch
    .command("advise")
    .description("say to which zones the requests of each zone go, and should go; changes nothing")
    .argument("<service>", "namespace/name of the Service", namespacedName)
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(output())
    .addOption(watch())
    .action(async (service: readonly [string, string], options) =>
      (await import("./commands/dispatch.ts")).adviseCommand(service, options, print),
    );
  dispatch
    .command("status")
    .description("list Services by what spreads their requests, share in time, spill and headroom")
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(output())
    .addOption(watch())
    .action(async (options) => (await import("./commands/dispatch.ts")).statusCommand(options, print));
  dispatch
    .command("explain")
    .description("say where a dispatcher sent the last requests to a Service, and why")
    .argument("<service>", "namespace/name of the Service", namespacedName)
    .option("--server <url>", "address of a dispatcher's own port", httpUrl, DEFAULT_DISPATCHER)
    .option("--limit <number>", "so many requests at most", wholeNumber(1, 500), 5)
    .addOption(output())
    .addOption(watch())
    .action(async (service: readonly [string, string], options) =>
      (await import("./commands/dispatch.ts")).explainRequestsCommand(service, options, print),
    );
  examples(commandOf(program, "dispatch", "status"), "% dispatch status", "% dispatch status -o json");
  examples(
    commandOf(program, "dispatch", "explain"),
    "% dispatch explain shop/web                        # after kubectl port-forward deploy/isochrone-dispatcher 7416",
    "% dispatch explain shop/web --limit 50 -o json",
  );
  examples(
    commandOf(program, "dispatch", "advise"),
    "% dispatch advise shop/db",
    "% dispatch advise shop/db -o json --kubeconfig ~/.kube/config --server http://127.0.0.1:8080",
  );
}
