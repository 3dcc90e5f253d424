import { Option } from "commander";
import type { Command } from "commander";
import { terminal } from "./output/terminal.ts";
import {
  annotationPrefix,
  assignments,
  duration,
  namedValue,
  ratio,
  readableFile,
  readableFolders,
  readableFiles,
  wholeNumber,
} from "./options.ts";
import { commandOf, context, examples, kubeconfig, namespace, output } from "./program-options.ts";
import type { Print } from "./program-options.ts";

export function addScore(program: Command, print: Print): void {
  program
    .command("score")
    .description("score nodes for a pod offline, from a dump of the cluster")
    .requiredOption(
      "--cluster <file>",
      "a Kubernetes List or several documents, YAML or JSON: nodes, pods, deployments, ...",
      readableFile,
    )
    .option(
      "--pod <file or namespace/name>",
      "a pod's manifest, or the name of a pod in the dump (default: that of --decision)",
    )
    .addOption(
      new Option(
        "--decision <file>",
        "what `explain -o json` printed: strategy and settings of that decision, for scores equal to its own with --graph of the same version",
      )
        .argParser(readableFile)
        .conflicts(["strategy", "mode", "set", "channelPriorities"]),
    )
    .addOption(
      new Option(
        "--graph <file>",
        "what `graph -o json` printed: its figures in place of the dump's annotations, for scores equal to those of a running extender",
      )
        .argParser(readableFile)
        .conflicts("prefix"),
    )
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
      annotationPrefix,
    )
    .addOption(output())
    .action(async (options) => (await import("./commands/score.ts")).scoreCommand(options, print));
  examples(
    commandOf(program, "score"),
    "kubectl get nodes,pods,deployments,replicasets -A -o yaml > dump.yaml",
    "% score --cluster dump.yaml --pod default/cart-7c9f -o json",
    "% graph -o json > graph.json",
    "% score --cluster dump.yaml --graph graph.json --pod default/cart-7c9f",
    "% explain cart-7c9f -n default -o json > decision.json",
    "% score --cluster dump.yaml --graph graph.json --decision decision.json",
  );
}

const ORDER_HELP = `
Order of pods:
  Gated pods (docs/gates.md) need no QueueSort: with planner.release=ordered, or the annotation isochrone.dev/release: ordered of an AppGroup,
  a workload is let go when those before it are bound or have failed, whichever kube-scheduler binds them.
  --topological-sort is for pods that have no gate: upstream's plugin sorts those of one AppGroup that wait in the queue at the same time. Only a
  kube-scheduler that is built from kubernetes-sigs/scheduler-plugins has it. docs/scheduler.md tells both apart.`;

export function addSchedulerConfig(program: Command, print: Print): void {
  const several = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  const fileOrInput = (text: string): string => (text === "-" ? text : readableFile(text));
  program
    .command("scheduler-config")
    .description("print kube-scheduler's configuration with the extender added")
    .argument(
      "[file]",
      "a KubeSchedulerConfiguration, or - for standard input (default: kube-scheduler's defaults)",
      fileOrInput,
    )
    .option("--url <url>", "address of the extender for kube-scheduler, with the path before the verbs")
    .option("--service <namespace/name[:port]>", "instead of --url: use the ClusterIP of this service")
    .addOption(kubeconfig("the cluster of --service (default: $KUBECONFIG, ~/.kube/config)"))
    .addOption(context())
    .option("--prefix <path>", "path before the verbs, for --service", "/scheduler")
    .option(
      "--server-name <name>",
      "name in the extender's certificate (default with --service: name.namespace.svc)",
    )
    .option(
      "--ca <file>",
      "PEM of the authority of that certificate; repeatable (default with --service: what the cluster publishes of it)",
      readableFiles,
    )
    .option(
      "--client-certificate <path>",
      "kube-scheduler's client certificate, as its own file system has it",
    )
    .option("--client-key <path>", "the key of the client certificate, likewise")
    .option(
      "--client-folder <folder>",
      "with --service: write the client certificate and key that the cluster has for kube-scheduler into this folder, tls.crt and tls.key",
    )
    .option(
      "--weight <number>",
      "weight among kube-scheduler's own scores (default: 5)",
      wholeNumber(1, 1_000),
    )
    .addOption(duration("--timeout <duration>", "time limit of one request, 1s if none is given", 1))
    .option("--filter", "also ask which nodes pass, for declared maxNetworkCost limits")
    .option(
      "--managed-resource <name>",
      "ask only about pods that request this extended resource; repeatable",
      several,
    )
    .option(
      "--second-scheduler <name>",
      "the configuration is for a scheduler of this name beside the cluster's own; only its pods are asked about",
    )
    .option(
      "--topological-sort <namespace>",
      "sort the queue by upstream's TopologicalSort and the AppGroups of this namespace; repeatable",
      several,
    )
    .addOption(new Option("-o, --output <format>", "output format").choices(["yaml", "json"]).default("yaml"))
    .addHelpText("after", ORDER_HELP)
    .action(async (file: string | undefined, options) =>
      (await import("./commands/scheduler-config.ts")).schedulerConfigCommand(file, options, print, (text) =>
        terminal.note(text),
      ),
    );
  examples(
    commandOf(program, "scheduler-config"),
    "% scheduler-config /etc/kubernetes/scheduler.yaml --service isochrone/isochrone-scheduler-plugin \\",
    "  --client-folder /etc/kubernetes/isochrone",
  );
}

export function addAppGroup(program: Command, print: Print): void {
  const group = program
    .command("appgroup")
    .description("work with AppGroups: the workloads of an application and their dependencies");
  group
    .command("order")
    .description("print the scheduling order of an AppGroup's workloads, offline")
    .argument("<file>", "YAML or JSON with the AppGroup", readableFile)
    .option(
      "--algorithm <name>",
      "KahnSort, TarjanSort, ReverseKahn, ReverseTarjan, AlternateKahn or AlternateTarjan (default: the spec's own)",
    )
    .option("--name <name>", "name of the AppGroup, when the file has several")
    .addOption(output())
    .action(async (file: string, options) =>
      (await import("./commands/appgroup.ts")).appGroupOrderCommand(file, options, print, (text) =>
        terminal.note(`isochrone: ${text}`),
      ),
    );
  examples(
    commandOf(program, "appgroup", "order"),
    "% appgroup order shop.yaml --algorithm ReverseKahn -o json",
  );
}

export function addTosca(program: Command, print: Print): void {
  program
    .command("tosca")
    .description("convert a TOSCA service template, or a Clout of the Puccini compiler, into a workflow")
    .argument("<file>", "YAML or JSON; its imports must be local files", readableFile)
    .option("--graph", "print its workflow graph")
    .option("--appgroup", "print its AppGroup; with --apply: apply that alone")
    .option("--manifests", "print its Deployments and Services; with --apply: apply these alone")
    .option("--apply", "apply AppGroup, Deployments and Services to a cluster")
    .option("--dry-run", "with --apply: ask the API server, change nothing")
    .option("--force-conflicts", "with --apply: take over fields owned by other managers")
    .addOption(kubeconfig("the cluster of --apply (default: $KUBECONFIG, ~/.kube/config)"))
    .addOption(context())
    .addOption(namespace("of services that name none (default: default)"))
    .option("--name <name>", "of the workflow (default: the template's name, else the file's)")
    .option("--input <name=value>", "an input of the template; repeatable", namedValue)
    .option("--mapping <file>", "which types are services and channels (docs/tosca.md)", readableFile)
    .option("--profiles <folder>", "where imported profiles are; repeatable", readableFolders)
    .option("--algorithm <name>", "topologySortingAlgorithm of the AppGroup (default: ReverseKahn)")
    .option("--planned", "label the AppGroup so that its new pods wait for the planner")
    .addOption(
      new Option("-o, --output <format>", "output format (default: yaml for objects, else table)").choices([
        "table",
        "yaml",
        "json",
      ]),
    )
    .action(async (file: string, options) =>
      (await import("./commands/tosca.ts")).toscaCommand(file, options, print, (text) => terminal.note(text)),
    );
  examples(
    commandOf(program, "tosca"),
    "% tosca shop.yaml",
    "% tosca shop.yaml --input replicas=3 --appgroup",
    "% tosca shop.yaml -n shop --apply --dry-run",
  );
}

export function addBench(program: Command, print: Print): void {
  const group = program.command("bench").description("test parts of the system against known results");
  group
    .command("coordinates")
    .description("compare estimates for unmeasured pairs with a matrix of round-trip times")
    .requiredOption(
      "--matrix <file>",
      "round-trip times in ms, n x n, whitespace-separated; 0 or less: not measured",
      readableFile,
    )
    .option("--peers <number>", "random peers of each node", wholeNumber(1, 10_000), 10)
    .option(
      "--budget <number>",
      "probes that each node makes, one random peer each",
      wholeNumber(1, 1_000_000),
      200,
    )
    .option("--noise <ratio>", "standard deviation of a sample around the matrix, 0.2 or 20%", ratio, 0)
    .option("--seed <number>", "seed of all random choices", wholeNumber(0, 2 ** 31), 1)
    .addOption(output())
    .action(async (options) => (await import("./commands/bench.ts")).benchCoordinatesCommand(options, print));
  examples(
    commandOf(program, "bench", "coordinates"),
    "% bench coordinates --matrix rtt.txt --peers 10 --budget 200 --noise 0.2 -o json",
  );
}
