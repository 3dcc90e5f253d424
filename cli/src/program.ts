// The command line: what can be said, its help, and which function does it.
import { Command, Option } from "commander";
import { addDescheduler } from "./program-descheduler.ts";
import {
  assignments,
  bitsPerSecond,
  durationMs,
  httpUrl,
  namedValue,
  positiveNumber,
  ratio,
  wholeNumber,
} from "./options.ts";

// Each command's code is loaded when it is called: offline scoring needs no web server, and help needs nothing.

const DEFAULT_SERVER = "http://127.0.0.1:8080";
const DEFAULT_LAB = "http://127.0.0.1:8082";

export type Print = (text: string) => void;

const output = (): Option =>
  new Option("-o, --output <format>", "how to print").choices(["table", "json"]).default("table");
const server = (): Option =>
  new Option("--server <url>", "where the graph API is")
    .argParser(httpUrl)
    .default(DEFAULT_SERVER)
    .env("ISOCHRONE_SERVER");
const tokenFile = (): Option =>
  new Option("--token-file <file>", "bearer token for the graph API").env("ISOCHRONE_TOKEN_FILE");
const caFile = (): Option =>
  new Option("--ca-file <file>", "authorities (PEM) of the graph API's certificate").env("ISOCHRONE_CA_FILE");
const lab = (): Option =>
  new Option("--lab <url>", "where the emulator's controls are")
    .argParser(httpUrl)
    .default(DEFAULT_LAB)
    .env("ISOCHRONE_LAB");

/** The whole command; `print` writes a line to standard output. */
export function createProgram(print: Print): Command {
  const program = new Command("isochrone")
    .description(
      "Makes a Kubernetes cluster aware of its own network: measures it, draws it, and places pods by it.",
    )
    .version("0.1.0")
    .showHelpAfterError("(isochrone --help lists what can be said)");
  addUp(program, print);
  addGraph(program, print);
  addLab(program, print);
  addScore(program, print);
  addPlan(program, print);
  addSchedulerConfig(program, print);
  addAppGroup(program, print);
  addGates(program, print);
  addDescheduler(program, print, [tokenFile(), caFile(), output()]);
  addTosca(program, print);
  addBench(program, print);
  return program;
}

function addUp(program: Command, print: Print): void {
  program
    .command("up")
    .description("run an embedded cluster with all services on this machine, until Ctrl-C")
    .option(
      "--port <number>",
      "port of page and graph API; the extender gets the next one, the emulator's controls the one after; 0 = any",
      wholeNumber(0, 65_533),
      8080,
    )
    .option("--nodes <number>", "how many nodes", wholeNumber(2, 16), 8)
    .option(
      "--matrix <file>",
      "round-trip times in ms, n x n, whitespace-separated, instead of the built-in excerpt",
    )
    .option("--manifest <file>", "Deployments of the workflow, instead of the sample of 17 services")
    .addOption(
      new Option(
        "--kubeconfig <file>",
        "a cluster whose nodes KWOK simulates: its API server, controllers and scheduler act, the emulated network and the pods' processes are here",
      ).conflicts(["nodes", "placement"]),
    )
    .option("--rate <number>", "requests per second to the workflow's entry", positiveNumber, 5)
    .option("--window <duration>", "window of the graphs", durationMs, 30_000)
    .option("--seed <number>", "seed of everything random", wholeNumber(0, 2 ** 31), 1)
    .addOption(
      new Option("--placement <how>", "how pods are placed at first: by score, or spread over all regions")
        .choices(["score", "spread"])
        .default("score"),
    )
    .option("--no-replace", "leave the first placement as it is")
    .addOption(output())
    .addHelpText(
      "after",
      "\nExamples:\n  isochrone up\n  isochrone up --placement spread --rate 10\n  isochrone up --manifest my-workflow.yaml --port 9000",
    )
    .action(async (options) => (await import("./commands/up.ts")).upCommand(options, print));
}

function addGraph(program: Command, print: Print): void {
  program
    .command("graph")
    .description("print the cluster graph and the workflows")
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .option("--workflow <namespace/name>", "only this workflow")
    .addOption(output())
    .action(async (options) => (await import("./commands/graph.ts")).graphCommand(options, print));
  program
    .command("explain")
    .description("say why a pod is where it is")
    .argument("<pod>", "name of the pod, or of its workload")
    .option("-n, --namespace <name>", "its namespace", "default")
    .option("--kubeconfig <file>", "also ask this cluster about the pod: where it is, or why it is pending")
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(output())
    .action(async (pod: string, options) =>
      (await import("./commands/explain.ts")).explainCommand(pod, options, print),
    );
}

function addLab(program: Command, print: Print): void {
  const group = program.command("lab").description("the emulated network of a running `isochrone up`");
  group
    .command("link")
    .description("change what the emulator does to the packets between two nodes, both ways unless --one-way")
    .argument("<a>", "node")
    .argument("<b>", "node")
    .option("--delay <duration>", "round-trip time", durationMs)
    .option("--jitter <duration>", "spread around it", durationMs)
    .option("--loss <ratio>", "share of round trips lost, 0.01 or 1%", ratio)
    .option("--bandwidth <rate>", "bits per second each way, e.g. 100M", bitsPerSecond)
    .option("--cut", "let nothing through")
    .option("--heal", "end a cut")
    .option("--one-way", "only what <a> initiates")
    .addOption(lab())
    .addOption(output())
    .action(async (a: string, b: string, options) =>
      (await import("./commands/lab.ts")).labLinkCommand(a, b, options, print),
    );
  group
    .command("matrix")
    .description("print the emulator's truth, round-trip times in ms")
    .addOption(lab())
    .addOption(output())
    .action(async (options) => (await import("./commands/lab.ts")).labMatrixCommand(options, print));
  group
    .command("record")
    .description("print what the emulator did to the packets that passed")
    .option("--last <duration>", "how far back", durationMs, 30_000)
    .addOption(lab())
    .addOption(output())
    .action(async (options) => (await import("./commands/lab.ts")).labRecordCommand(options, print));
}

function addScore(program: Command, print: Print): void {
  program
    .command("score")
    .description("score the nodes of a cluster's dump for a pod, offline")
    .requiredOption(
      "--cluster <file>",
      "a Kubernetes List or several documents, YAML or JSON: nodes, pods, deployments, ...",
    )
    .requiredOption("--pod <file or namespace/name>", "a pod's manifest, or the name of a pod in the dump")
    .option(
      "--strategy <name>",
      "resource-network, communication-affinity, network-overhead, or several: NAME[/MODE][=WEIGHT],...",
      "resource-network",
    )
    .option(
      "--mode <mode>",
      "raw or normalized; of network-overhead strict or upstream (default: normalized, strict)",
    )
    .option(
      "--channel-priorities <list>",
      "relationship types beside those of communication-affinity: NAME[<PARENT][=PRIORITY],...",
    )
    .option("--set <name=number,...>", "parameters of the strategy, e.g. alpha=0.3,gamma=0.7", assignments)
    .option(
      "--prefix <prefix>",
      'prefix of the annotations; "" for bare names only (default: isochrone.dev/, and bare names where that is missing)',
    )
    .addOption(output())
    .addHelpText(
      "after",
      "\nExample:\n  kubectl get nodes,pods,deployments,replicasets -A -o yaml > dump.yaml\n  isochrone score --cluster dump.yaml --pod default/cart-7c9f -o json",
    )
    .action(async (options) => (await import("./commands/score.ts")).scoreCommand(options, print));
}

function addPlan(program: Command, print: Print): void {
  program
    .command("plan")
    .description(
      "print what the workflows of a namespace cost, what the best plans would, and the moves between",
    )
    .argument("<namespace>", "whose workflows")
    .option("--workflow <name>", "only this one")
    .option("--kubeconfig <file>", "the cluster (default: $KUBECONFIG, ~/.kube/config)")
    .option("--time <duration>", "time for each workflow's search", durationMs, 2_000)
    .option("--seed <number>", "seed of the search", wholeNumber(0, 2 ** 31), 1)
    .addOption(server())
    .addOption(tokenFile())
    .addOption(caFile())
    .addOption(output())
    .addHelpText("after", "\nExample:\n  isochrone plan shop --server http://127.0.0.1:8080")
    .action(async (namespace: string, options) =>
      (await import("./commands/plan.ts")).planCommand(namespace, options, print),
    );
}

function addSchedulerConfig(program: Command, print: Print): void {
  const several = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  program
    .command("scheduler-config")
    .description("merge the extender into kube-scheduler's configuration, and print it")
    .argument(
      "[file]",
      "a KubeSchedulerConfiguration, or - for standard input (default: kube-scheduler's defaults)",
    )
    .option("--url <url>", "where kube-scheduler reaches the extender, with the path in front of the verbs")
    .option("--service <namespace/name[:port]>", "instead of --url: the service whose ClusterIP is taken")
    .option("--kubeconfig <file>", "the cluster of --service (default: $KUBECONFIG, ~/.kube/config)")
    .option("--prefix <path>", "path in front of the verbs, for --service", "/scheduler")
    .option(
      "--server-name <name>",
      "name in the extender's certificate (default with --service: name.namespace.svc)",
    )
    .option("--ca <file>", "PEM of the authority of that certificate; may be said several times", several)
    .option(
      "--client-certificate <path>",
      "kube-scheduler's client certificate, as its own file system has it",
    )
    .option("--client-key <path>", "the key of the client certificate, likewise")
    .option(
      "--weight <number>",
      "weight among kube-scheduler's own scores (default: 5)",
      wholeNumber(1, 1_000),
    )
    .option("--timeout <duration>", "limit of one question (default: 1s)", durationMs)
    .option("--filter", "also ask which nodes pass, for declared maxNetworkCost limits")
    .option(
      "--managed-resource <name>",
      "ask only about pods that request this extended resource; may be said several times",
      several,
    )
    .option(
      "--second-scheduler <name>",
      "the configuration is for a scheduler of this name beside the cluster's own; only its pods are asked about",
    )
    .addOption(new Option("-o, --output <format>", "how to print").choices(["yaml", "json"]).default("yaml"))
    .addHelpText(
      "after",
      "\nExample:\n  isochrone scheduler-config /etc/kubernetes/scheduler.yaml --service isochrone/scheduler-plugin --ca ca.pem \\\n    --client-certificate /etc/kubernetes/isochrone/tls.crt --client-key /etc/kubernetes/isochrone/tls.key",
    )
    .action(async (file: string | undefined, options) =>
      (await import("./commands/scheduler-config.ts")).schedulerConfigCommand(file, options, print, (text) =>
        console.error(text),
      ),
    );
}

function addAppGroup(program: Command, print: Print): void {
  const group = program
    .command("appgroup")
    .description("AppGroups: workloads of one application and what they depend on");
  group
    .command("order")
    .description("print the order in which an AppGroup's workloads are scheduled, offline")
    .argument("<file>", "YAML or JSON with the AppGroup")
    .option(
      "--algorithm <name>",
      "KahnSort, TarjanSort, ReverseKahn, ReverseTarjan, AlternateKahn or AlternateTarjan (default: the spec's own)",
    )
    .option("--name <name>", "name of the AppGroup, when the file has several")
    .addOption(output())
    .addHelpText("after", "\nExample:\n  isochrone appgroup order shop.yaml --algorithm ReverseKahn -o json")
    .action(async (file: string, options) =>
      (await import("./commands/appgroup.ts")).appGroupOrderCommand(file, options, print, (text) =>
        console.error(`isochrone: ${text}`),
      ),
    );
}

function addGates(program: Command, print: Print): void {
  const group = program
    .command("gates")
    .description("scheduling gates by which pods wait until Isochrone has planned them");
  const namespace = (): Option =>
    new Option("-n, --namespace <name>", "only of this namespace (default: all)");
  const kubeconfig = (): Option =>
    new Option("--kubeconfig <file>", "the cluster (default: $KUBECONFIG, ~/.kube/config, or the pod's own)");
  group
    .command("list")
    .description("print the pods that wait")
    .addOption(namespace())
    .addOption(kubeconfig())
    .addOption(output())
    .action(async (options) => (await import("./commands/gates.ts")).gatesListCommand(options, print));
  group
    .command("open")
    .description(
      "open Isochrone's gate of pods, so that kube-scheduler places them as it likes; gates of others stay",
    )
    .argument("[pods...]", "names of pods in the namespace (default: default)")
    .option("--all", "of all pods")
    .option("--dry-run", "change nothing, and print what would be done")
    .option("--remove-webhook", "with --all, before an uninstallation: let no new pod get the gate")
    .option("--system-namespace <name>", "where Isochrone is installed, for --remove-webhook", "isochrone")
    .addOption(namespace())
    .addOption(kubeconfig())
    .addOption(output())
    .addHelpText(
      "after",
      "\nExamples:\n  isochrone gates open --all --dry-run\n  isochrone gates open web-7c9f -n shop\n  isochrone gates open --all --remove-webhook",
    )
    .action(async (pods: string[], options) =>
      (await import("./commands/gates.ts")).gatesOpenCommand(pods, options, print),
    );
}

function addTosca(program: Command, print: Print): void {
  program
    .command("tosca")
    .description("read a TOSCA service template, or a Clout of the Puccini compiler, as a workflow")
    .argument("<file>", "YAML or JSON; what it imports must be files of this machine")
    .option("--graph", "print its workflow graph")
    .option("--appgroup", "print its AppGroup; with --apply: apply that alone")
    .option("--manifests", "print its Deployments and Services; with --apply: apply these alone")
    .option("--apply", "apply AppGroup, Deployments and Services to a cluster")
    .option("--dry-run", "with --apply: ask the API server, change nothing")
    .option("--force-conflicts", "with --apply: take over fields that others have set")
    .option("--kubeconfig <file>", "the cluster of --apply (default: $KUBECONFIG, ~/.kube/config)")
    .option("-n, --namespace <name>", "of services that name none (default: default)")
    .option("--name <name>", "of the workflow (default: the template's name, else the file's)")
    .option("--input <name=value>", "an input of the template; may be said several times", namedValue)
    .option("--algorithm <name>", "topologySortingAlgorithm of the AppGroup (default: ReverseKahn)")
    .option("--planned", "label the AppGroup, so that its new pods wait for the planner")
    .addOption(
      new Option("-o, --output <format>", "how to print (default: yaml for objects, else table)").choices([
        "table",
        "yaml",
        "json",
      ]),
    )
    .addHelpText(
      "after",
      "\nExamples:\n  isochrone tosca shop.yaml\n  isochrone tosca shop.yaml --input replicas=3 --appgroup\n  isochrone tosca shop.yaml -n shop --apply --dry-run",
    )
    .action(async (file: string, options) =>
      (await import("./commands/tosca.ts")).toscaCommand(file, options, print, (text) => console.error(text)),
    );
}

function addBench(program: Command, print: Print): void {
  const group = program.command("bench").description("judge parts of the system against known truth");
  group
    .command("coordinates")
    .description("judge the estimates of pairs that nobody measured against a matrix of round-trip times")
    .requiredOption(
      "--matrix <file>",
      "round-trip times in ms, n x n, whitespace-separated; 0 or less: not measured",
    )
    .option("--peers <number>", "random peers of each node", wholeNumber(1, 10_000), 10)
    .option(
      "--budget <number>",
      "probes that each node makes, one random peer each",
      wholeNumber(1, 1_000_000),
      200,
    )
    .option("--noise <ratio>", "standard deviation of a sample around the matrix, 0.2 or 20%", ratio, 0)
    .option("--seed <number>", "seed of everything random", wholeNumber(0, 2 ** 31), 1)
    .addOption(output())
    .addHelpText(
      "after",
      "\nExample:\n  isochrone bench coordinates --matrix rtt.txt --peers 10 --budget 200 --noise 0.2 -o json",
    )
    .action(async (options) => (await import("./commands/bench.ts")).benchCoordinatesCommand(options, print));
}
