// docs/cli.md promises exit code 2 for every invalid value: covers every command and option.
import type { Command } from "commander";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exitCodeOf } from "./errors.ts";
import { createProgram } from "./program.ts";

const FILES = {
  DUMP: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, metadata: {name: n1}}\n- {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: s}}\n",
  TOSCA: [
    "tosca_definitions_version: tosca_simple_yaml_1_3",
    "imports: [ internal:/isochrone/1.0/profile.yaml ]",
    "topology_template:",
    "  inputs: { replicas: { type: integer, default: 1 } }",
    "  node_templates: { web: { type: k8s:Service } }",
  ].join("\n"),
  MATRIX: "0 1\n1 0\n",
  STREAMS: [
    "kind: Node\nmetadata: { name: n1 }\nstatus: { allocatable: { cpu: 1, memory: 1 } }",
    "kind: StreamJob\nmetadata: { name: j }\nspec:\n  source: { node: n1, bytesPerFrame: 1 }",
    "  tasks: [{ name: a, requests: { cpu: 0, memory: 0 }, profile: [{ secondsPerFrame: 1 }] }]",
  ]
    .join("\n---\n")
    .replace("---\n  tasks", "  tasks"),
  WHATEVER: "",
} as const;

const RIGHT: Readonly<Record<string, readonly string[]>> = {
  up: [],
  graph: [],
  explain: ["web-1"],
  "lab link": ["a", "b", "--cut"],
  "lab matrix": [],
  "lab record": [],
  "lab kill": ["a"],
  "lab objects": [],
  score: ["--cluster", "DUMP", "--pod", "s/p"],
  plan: ["shop"],
  "what-if": [],
  bill: [],
  savings: [],
  "scheduler-config": ["--url", "https://10.0.0.1:1"],
  "appgroup order": ["DUMP"],
  "gates list": [],
  "gates open": ["--all"],
  descheduler: [],
  tosca: ["TOSCA"],
  "dispatch advise": ["shop/web"],
  "dispatch status": [],
  "dispatch explain": ["shop/web"],
  "streams list": [],
  "streams explain": ["gate"],
  "streams plan": ["STREAMS"],
  flows: [],
  "bench coordinates": ["--matrix", "MATRIX"],
  experiment: ["messaging"],
  doctor: [],
  mcp: [],
  "crds apply": ["FOLDER"],
  "clean-up": [],
  "release-flows": [],
  completion: [],
};

const NO_FILE = ["NOWHERE", "FOLDER"];
const NO_NAMESPACE = ["", "Shop", "a/b", "a".repeat(64)];
const NO_URL = ["", "nowhere", "ftp://somewhere"];
const NO_DURATION = ["", "soon", "-1s", "2h", "90000m"];
const NO_FORMAT = ["", "xml", "JSON"];
const NO_PREFIX = ["isochrone.dev", "a b/", "/"];
const SEED = ["-1", "1.5", "x", "9999999999"];

const WRONG: Readonly<Record<string, readonly string[]>> = {
  "--kubeconfig": NO_FILE,
  "--token-file": NO_FILE,
  "--ca-file": NO_FILE,
  "--cert-file": NO_FILE,
  "--key-file": NO_FILE,
  "--ca": NO_FILE,
  "--settings": NO_FILE,
  "--cluster": NO_FILE,
  "--graph": NO_FILE,
  "--decision": NO_FILE,
  "--manifest": NO_FILE,
  "--matrix": NO_FILE,
  "--prices": NO_FILE,
  "--mapping": NO_FILE,
  "--profiles": ["NOWHERE", "DUMP"],
  "--trace": NO_FILE,
  "--chart": ["NOWHERE", "DUMP"],
  "--namespace": NO_NAMESPACE,
  "--system-namespace": NO_NAMESPACE,
  "--release": NO_NAMESPACE,
  "--server": NO_URL,
  "--lab": NO_URL,
  "--url": [...NO_URL, "https://u@h", "https://h/?a", "http://h", "https://x.y.svc"],
  "--collector": NO_URL,
  "--scheduler-plugin": NO_URL,
  "--network-manager": NO_URL,
  "--delay": NO_DURATION,
  "--jitter": NO_DURATION,
  "--last": NO_DURATION,
  "--time": NO_DURATION,
  "--timeout": NO_DURATION,
  "--watch": NO_DURATION.slice(1),
  "--by": ["", "pods", "Channel"],
  "--limit": ["", "0", "1.5", "x", "501"],
  "--window": [...NO_DURATION, "10ms"],
  "--output": NO_FORMAT,
  "--seed": SEED,
  "--port": ["-1", "65536", "http"],
  "--nodes": ["1", "17", "x"],
  "--rate": ["0", "-1", "x", "1e9"],
  "--acts": ["", "random", "live", "plan"],
  "--hot-site": ["", "south", "West"],
  "--drain": [""],
  "--lose-zone": [""],
  "--slow": ["", "a:b", "a=+1ms", "a:b=1ms", "a:b=+-1ms", "a:b=x0", "a:b=x-1", "a:b=xfast"],
  "--objective": ["", "speed"],
  "--http": ["-1", "65536", "http"],
  "--allow-host": ["", "a b", "http://h"],
  "--loss": ["", "2", "-1", "x", "101%"],
  "--bandwidth": ["", "fast", "-1M", "1T"],
  "--strategy": [
    "",
    "luck",
    "resource-network,resource-network",
    "resource-network=-1",
    "resource-network/x",
  ],
  "--mode": ["", "upside-down", "upstream"],
  "--channel-priorities": ["A<B", "A=-1", "A<A", "A=B=C"],
  "--set": ["", "alpha", "alpha=x", "alpha=7", "luck=1", "alpha=0.1,beta=0.1", "minSpread=2"],
  "--prefix": NO_PREFIX,
  "--algorithm": ["", "BubbleSort"],
  "--name": ["", "---", "a".repeat(64)],
  "--input": ["replicas", "=1", "replicas=many", "luck=1"],
  "--peers": ["0", "x"],
  "--budget": ["0", "x"],
  "--noise": ["", "2", "x"],
  "--ground": ["", "moon"],
  "--only": ["", "luck"],
  "--contenders": ["", "nobody"],
  "--jobs": ["0", "x", "100000"],
  "--scale": ["0", "-1", "x"],
  "--kafka": ["", "a,,b"],
  "--weight": ["0", "x", "1001"],
  "--service": ["", "name", "a/b/c", "a/b:c:d"],
  "--managed-resource": ["", "cpu", "kubernetes.io/x"],
  "--second-scheduler": ["", "Mine", "default-scheduler"],
  "--topological-sort": ["", "My Shop"],
  "--workflow": ["", "shop", "a/b/c", "/b"],
  "--pods": ["", "web-1,", "Web_1", "a b"],
  "--secret": ["", "A"],
  "--config-map": ["", "A"],
  "--daemon-set": ["", "A"],
};

const WRONG_OF: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "what-if": {
    "--scale": ["", "web=1", "shop/web", "shop/web=-1", "shop/web=1.5", "shop/web=many"],
    "--move": ["", "web-1=n1", "shop/web-1", "shop/web-1=", "=n1"],
  },
  "scheduler-config": { "--prefix": ["", "scheduler"] },
  bill: { "--limit": ["", "0", "1.5", "x", "100001"] },
  savings: { "--limit": ["", "0", "1.5", "x", "10001"] },
  plan: { "--workflow": [] },
  "appgroup order": { "--name": [] },
};

const FREE: readonly string[] = [
  "--pod",
  "--context",
  "--as",
  "--out",
  "--server-name",
  "--client-certificate",
  "--client-key",
  "--client-folder",
];

const TOGETHER: readonly (readonly string[])[] = [
  [],
  ["nonsense"],
  ["graph", "surplus"],
  ["graph", "--luck"],
  ["graph", "-o", "dot", "--watch"],
  ["graph", "--ca-file", "WHATEVER"],
  ["up", "--kubeconfig", "WHATEVER", "--nodes", "4"],
  ["up", "--hot-site", "west", "--streams"],
  ["up", "--hot-site", "west", "--window", "10s"],
  ["up", "--kubeconfig", "WHATEVER", "--acts", "spread", "plan"],
  ["explain"],
  ["explain", "Web_1"],
  ["lab"],
  ["lab", "link", "a"],
  ["lab", "link", "a", "b"],
  ["lab", "link", "a", "b", "--cut", "--heal"],
  ["score", "--cluster", "DUMP"],
  ["score", "--pod", "s/p"],
  ["score", "--cluster", "DUMP", "--pod", "nowhere.yaml"],
  ["score", "--cluster", "DUMP", "--pod", "s/p", "--strategy", "network-overhead", "--mode", "raw"],
  ["score", "--cluster", "DUMP", "--pod", "s/p", "--graph", "WHATEVER", "--prefix", ""],
  ["plan"],
  ["plan", "Shop"],
  ["plan", "shop", "--ca-file", "WHATEVER"],
  ["what-if", "--cluster", "DUMP"],
  ["what-if", "--graph", "WHATEVER"],
  ["streams", "explain"],
  ["streams", "explain", "Gate_1"],
  ["flows", "Box_1"],
  ["streams", "plan"],
  ["streams", "plan", "NOWHERE"],
  ["streams", "plan", "DUMP"],
  ["scheduler-config"],
  ["scheduler-config", "NOWHERE", "--url", "https://10.0.0.1:1", "--ca", "WHATEVER"],
  ["scheduler-config", "--url", "https://10.0.0.1:1", "--service", "a/b"],
  ["scheduler-config", "--url", "https://10.0.0.1:1"],
  ["scheduler-config", "--url", "https://10.0.0.1:1", "--client-folder", "x"],
  ["scheduler-config", "--url", "http://127.0.0.1:1", "--server-name", "x"],
  ["appgroup", "order"],
  ["appgroup", "order", "NOWHERE"],
  ["gates", "open"],
  ["gates", "open", "a", "--all"],
  ["gates", "open", "A_b"],
  ["gates", "open", "a", "--remove-webhook"],
  ["descheduler", "--cert-file", "WHATEVER"],
  ["descheduler", "--ca-file", "WHATEVER"],
  ["tosca"],
  ["tosca", "NOWHERE"],
  ["tosca", "TOSCA", "--dry-run"],
  ["tosca", "TOSCA", "--force-conflicts"],
  ["tosca", "TOSCA", "--graph", "--apply"],
  ["tosca", "TOSCA", "--appgroup", "-o", "table"],
  ["bench", "coordinates"],
  ["experiment"],
  ["experiment", "luck"],
  ["doctor", "--only", "luck"],
  ["mcp", "--http", "0", "--token-file", "WHATEVER"],
  ["mcp", "--ca-file", "WHATEVER"],
  ["crds", "apply"],
  ["crds", "apply", "NOWHERE"],
  ["crds", "apply", "DUMP"],
  ["completion"],
  ["completion", "tcsh"],
];

interface Leaf {
  readonly path: string;
  readonly command: Command;
}

function leavesOf(command: Command, path = ""): Leaf[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((each) => leavesOf(each, `${path} ${each.name()}`.trim()));
}

const silent = (): Command => {
  const program = createProgram(() => undefined);
  const hush = (command: Command): void => {
    command.configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    command.commands.forEach(hush);
  };
  hush(program);
  return program;
};

const leaves = leavesOf(silent());
const valued = leaves.flatMap(({ path, command }) =>
  command.options
    .filter(({ required, optional }) => required || optional)
    .map(({ long }) => ({ path, option: long! })),
);

describe("exit codes", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "isochrone-test-"));
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const placed = (word: string): string =>
    word === "FOLDER" ? folder : word in FILES || word === "NOWHERE" ? join(folder, word) : word;

  async function exitCode(args: readonly string[]): Promise<number | string> {
    try {
      await silent().parseAsync(args.map(placed), { from: "user" });
      return "it was done";
    } catch (error) {
      return exitCodeOf(error) === 2 ? 2 : `${exitCodeOf(error)}: ${(error as Error).message}`;
    }
  }

  it("has wrong values here for every option that takes one", () => {
    const missing = valued.filter(
      ({ option, path }) =>
        !FREE.includes(option) && (WRONG_OF[path]?.[option] ?? WRONG[option]) === undefined,
    );
    expect(missing).toEqual([]);
    expect(leaves.map(({ path }) => path).filter((path) => RIGHT[path] === undefined)).toEqual([]);
  });

  const cases = valued.flatMap(({ path, option }) =>
    (WRONG_OF[path]?.[option] ?? WRONG[option] ?? []).map((value) => [path, option, value] as const),
  );

  it.each(cases)("is 2 for %s %s %j", async (path, option, value) => {
    const right = [...RIGHT[path]!];
    const said = right.indexOf(option);
    if (said >= 0) right.splice(said, 2);
    expect(await exitCode([...path.split(" "), ...right, `${option}=${value}`])).toBe(2);
  });

  it.each(TOGETHER.map((args) => [args]))("is 2 for %j", async (args) => {
    expect(await exitCode(args)).toBe(2);
  });

  it("is 1 for what can't be done, and for what files hold", async () => {
    expect(await exitCode(["score", "--cluster", "DUMP", "--pod", "s/nobody"])).toMatch(/^1: .*no pod/);
    expect(await exitCode(["score", "--cluster", "WHATEVER", "--pod", "s/p"])).toMatch(/^1: /);
    expect(await exitCode(["appgroup", "order", "DUMP"])).toMatch(/^1: .*must hold one AppGroup/);
    expect(await exitCode(["graph", "--server", "http://127.0.0.1:1"])).toMatch(/^1: /);
  });

  it("is 0 for help and version", async () => {
    for (const args of [["--help"], ["--version"], ["score", "--help"], ["help", "lab"]]) {
      const ended: unknown = await silent()
        .parseAsync(args, { from: "user" })
        .catch((error: unknown) => error);
      expect([args, exitCodeOf(ended)]).toEqual([args, 0]);
    }
  });
});
