import { visibleLines } from "@isochrone/runtime/basics";
import { Command, Option } from "commander";
import { ACTS } from "./embedded/acts.ts";
import { addChart } from "./program-chart.ts";
import { addDescheduler } from "./program-descheduler.ts";
import type { StartScheduler } from "./commands/experiment.ts";
import { addCompletion, addDoctor } from "./program-doctor.ts";
import { addExperiment } from "./program-experiment.ts";
import { addBill, addDispatch, addGraph, addMcp, addPlan, addWhatIf } from "./program-graph.ts";
import { addStreams } from "./program-streams.ts";
import { addAppGroup, addBench, addSchedulerConfig, addScore, addTosca } from "./program-offline.ts";
import { terminal } from "./output/terminal.ts";
import {
  caFile,
  commandOf,
  DEFAULT_LAB,
  DEFAULT_SERVER,
  context,
  examples,
  kubeconfig,
  lab,
  namespace,
  output,
  systemNamespace,
  tokenFile,
  watch,
} from "./program-options.ts";
import type { Print } from "./program-options.ts";
import {
  bitsPerSecond,
  duration,
  hostNames,
  objectNames,
  positiveNumber,
  ratio,
  readableFile,
  wholeNumber,
} from "./options.ts";

// Loads a command's code when called: offline scoring needs no web server, help needs nothing.

const EXIT_CODES_HELP = `
Exit codes: 0 done, 1 failed (doctor: a finding of severity error), 2 wrong usage.
Every address option can be set by an environment variable; shell completion: % completion --help.`;

/** @param name as called @param startScheduler a real kube-scheduler for the experiments' baseline */
export function createProgram(
  print: Print,
  name = "isochrone",
  startScheduler: StartScheduler | null = null,
): Command {
  const program = new Command(name)
    .description(
      "Makes a Kubernetes cluster aware of its network: measures it, shows it, and places pods accordingly.",
    )
    .version("0.1.0")
    .configureOutput({
      writeOut: (text) => void process.stdout.write(visibleLines(text)),
      writeErr: (text) => void process.stderr.write(visibleLines(text)),
    })
    // Inherited by all subcommands: the caller decides about the exit code.
    .exitOverride()
    .addHelpText("after", EXIT_CODES_HELP.replaceAll("%", name));
  addUp(program, print);
  addGraph(program, print);
  addLab(program, print);
  addScore(program, print);
  addPlan(program, print);
  addWhatIf(program, print);
  addBill(program, print);
  addSchedulerConfig(program, print);
  addAppGroup(program, print);
  addGates(program, print);
  addDescheduler(program, print, [tokenFile(), caFile(), output(), watch()]);
  addTosca(program, print);
  addStreams(program, print);
  addDispatch(program, print);
  addBench(program, print);
  addExperiment(program, print, startScheduler);
  addDoctor(program, print);
  addMcp(program, print);
  addChart(program, print);
  examples(commandOf(program, "crds", "apply"), "% crds apply helm/isochrone/crds --dry-run");
  examples(commandOf(program, "clean-up"), "% clean-up --system-namespace isochrone");
  examples(commandOf(program, "release-flows"), "% release-flows --system-namespace isochrone");
  addCompletion(program, print);
  program.hook("preAction", async (_, command) => {
    const hasDefault = [DEFAULT_SERVER, DEFAULT_LAB].some((address) =>
      Object.values(command.opts()).includes(address),
    );
    if (hasDefault)
      await (
        await import("./demo-address.ts")
      ).findDemo(command, process.env, (text) => terminal.note(`isochrone: ${text}`));
  });
  nameHelp(program, name);
  return program;
}

function nameHelp(command: Command, path: string): void {
  command.showHelpAfterError(`(${path} --help lists what can be said)`);
  for (const each of command.commands) nameHelp(each, `${path} ${each.name()}`);
}

const prices = (): Option =>
  new Option(
    "--prices <file>",
    "prices of traffic beside the built-in ones, as docs/bill.md has them (default: AWS list prices for the regions of the demo)",
  )
    .argParser(readableFile)
    .conflicts(["streams", "hotSite"]);

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
    .option("--nodes <number>", "how many nodes; 8, or one for each name of --matrix", wholeNumber(2, 16))
    .option(
      "--matrix <file>",
      "round-trip times in ms, n x n, as numbers, CSV or Markdown, with or without names, instead of the built-in excerpt",
      readableFile,
    )
    .option(
      "--manifest <file>",
      "Deployments of the workflow, instead of the sample of 17 services",
      readableFile,
    )
    .addOption(prices())
    .addOption(
      new Option(
        "--kubeconfig <file>",
        "use a cluster whose 2 to 16 nodes are simulated by KWOK: its control plane is used, network and pods' processes are emulated here",
      )
        .argParser(readableFile)
        .conflicts(["nodes"]),
    )
    .addOption(
      new Option(
        "--streams",
        "run stream jobs instead of a workflow: --manifest is then a file of nodes, a FlowNetwork and StreamJobs",
      ).conflicts(["kubeconfig", "matrix", "acts", "nodes", "rate", "seed"]),
    )
    .addOption(
      new Option(
        "--hot-site <zone>",
        "run a Service in three zones instead of a workflow, and let the requests of this zone grow",
      )
        .choices(["west", "east", "north"])
        .conflicts(["streams", "kubeconfig", "matrix", "manifest", "acts", "nodes", "rate", "window"]),
    )
    .option("--rate <number>", "requests per second to the workflow's entry", positiveNumber(10_000), 5)
    .addOption(
      duration("--window <duration>", "window of the graphs", 1_000, 3_600_000).default(30_000, "30s"),
    )
    .option("--seed <number>", "seed of all random choices", wholeNumber(0, 2 ** 31), 1)
    .addOption(
      new Option(
        "--acts <act...>",
        "steps of the demo, in this order: spread the workflow over all regions, place it again pod by pod by score, place it again as a whole by plan, move it when the network changes (default: all; with --kubeconfig: spread score)",
      ).choices(ACTS),
    )
    .option(
      "--allow-host <name>",
      "another host name, or name:port, that browsers may use, such as a proxy's; repeatable",
      hostNames,
      [],
    )
    .addOption(output())
    .action(async ({ streams = false, hotSite, ...options }) => {
      if (hotSite !== undefined)
        return (await import("./commands/up-hot-site.ts")).upHotSiteCommand({ ...options, hotSite }, print);
      return streams
        ? (await import("./commands/up-streams.ts")).upStreamsCommand(options, print)
        : (await import("./commands/up.ts")).upCommand(options, print);
    });
  examples(
    commandOf(program, "up"),
    "% up",
    "% up --acts spread score",
    "% up --manifest my-workflow.yaml --port 9000",
    "% up --streams",
    "% up --hot-site west",
  ).addHelpText("after", "\nYour own workflow, step by step: docs/try-your-app.md");
}

/** Longer delays are unit mistakes, and the emulator refuses them. */
const MAX_DELAY_MS = 60_000;

function addLab(program: Command, print: Print): void {
  const group = program.command("lab").description("the emulated network of a running `isochrone up`");
  group
    .command("link")
    .description("change delay, loss or bandwidth between two nodes, in both directions unless --one-way")
    .argument("<a>", "node")
    .argument("<b>", "node")
    .addOption(duration("--delay <duration>", "round-trip time", 0, MAX_DELAY_MS))
    .addOption(duration("--jitter <duration>", "spread around it", 0, MAX_DELAY_MS))
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
    .description("print the emulator's current round-trip times in ms")
    .addOption(lab())
    .addOption(output())
    .action(async (options) => (await import("./commands/lab.ts")).labMatrixCommand(options, print));
  group
    .command("record")
    .description("print what the emulator did to the packets that passed")
    .addOption(duration("--last <duration>", "how far back").default(30_000, "30s"))
    .addOption(lab())
    .addOption(output())
    .action(async (options) => (await import("./commands/lab.ts")).labRecordCommand(options, print));
  group
    .command("kill")
    .description("fail a node: its pods end, and nothing reaches it")
    .argument("<node>")
    .addOption(lab())
    .addOption(output())
    .action(async (node: string, options) =>
      (await import("./commands/lab.ts")).labKillCommand(node, options, print),
    );
  group
    .command("objects")
    .description("print the objects of the embedded cluster, in kubectl's format")
    .addOption(lab())
    .addOption(output())
    .action(async (options) => (await import("./commands/lab.ts")).labObjectsCommand(options, print));
  examples(
    commandOf(program, "lab", "link"),
    "% lab link west-a-1 east-a-1 --delay 80ms",
    "% lab link west-a-1 east-a-1 --cut",
  );
  examples(commandOf(program, "lab", "matrix"), "% lab matrix -o json");
  examples(commandOf(program, "lab", "record"), "% lab record --last 1m");
  examples(commandOf(program, "lab", "kill"), "% lab kill east-a-1");
  examples(commandOf(program, "lab", "objects"), "% lab objects -o json > dump.json");
}

function addGates(program: Command, print: Print): void {
  const group = program
    .command("gates")
    .description("list or open the scheduling gates of pods that wait for a plan");
  group
    .command("list")
    .description("print pods that wait")
    .addOption(namespace("only of this namespace (default: all)"))
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(output())
    .action(async (options) => (await import("./commands/gates.ts")).gatesListCommand(options, print));
  group
    .command("open")
    .description("remove Isochrone's gate from pods, so that kube-scheduler schedules them; other gates stay")
    .argument("[pods...]", "names of pods in the namespace (default: default)", objectNames, [])
    .option("--all", "of all pods")
    .option("--dry-run", "change nothing, and print what would be done")
    .option("--remove-webhook", "with --all, before an uninstallation: let no new pod get the gate")
    .addOption(systemNamespace("where Isochrone is installed, for --remove-webhook"))
    .addOption(namespace("only of this namespace (default: all)"))
    .addOption(kubeconfig())
    .addOption(context())
    .addOption(output())
    .action(async (pods: string[], options) =>
      (await import("./commands/gates.ts")).gatesOpenCommand(pods, options, print),
    );
  examples(commandOf(program, "gates", "list"), "% gates list -n shop -o json");
  examples(
    commandOf(program, "gates", "open"),
    "% gates open --all --dry-run",
    "% gates open web-7c9f -n shop",
    "% gates open --all --remove-webhook",
  );
}
