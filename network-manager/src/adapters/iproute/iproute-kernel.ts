// Controls the kernel through tc, nft and ip, each called once for many changes.
import { KernelError } from "../../ports/errors.ts";
import type { KernelPort } from "../../ports/ports.ts";
import type { RoutingChange, Step, TrafficChange } from "../../domain/difference.ts";
import {
  classId,
  familyOf,
  HANDLE,
  portsOf,
  ROUTE_PROTOCOL,
  routeKey,
  ruleKey,
  RULE_PREFERENCES,
  type HtbClass,
  type IpFamily,
  type KernelState,
  type Rule,
  TUNNEL,
} from "../../domain/kernel-state.ts";
import { burstBytesOf } from "../../domain/rates.ts";
import { parseLinks, parseRoutes, parseRules, parseWays } from "./ip-json.ts";
import { LIST_TABLE, nftText, NO_TABLE, parseTable } from "./nft.ts";
import type { RunTool, ToolResult } from "./run-tool.ts";
import { parseClasses, parseQdiscs } from "./tc-text.ts";

/** An Ethernet packet's size: sent by a class before the next one of its level. */
const QUANTUM_BYTES = 1514;
/** Maximum shown lines of a tool's output: a wrong batch may print thousands. */
const SHOWN_LINES = 20;
const FORWARDING: Readonly<Record<IpFamily, string>> = {
  4: "/proc/sys/net/ipv4/ip_forward",
  6: "/proc/sys/net/ipv6/conf/all/forwarding",
};

export function createIprouteKernel(run: RunTool): KernelPort {
  return new IprouteKernel(run);
}

class IprouteKernel implements KernelPort {
  readonly #run: RunTool;

  constructor(run: RunTool) {
    this.#run = run;
  }

  async read(neighbours: readonly string[]): Promise<KernelState> {
    const [traffic, table, rules, routes, ways, links, forwards4, forwards6, isStrict] = await Promise.all([
      this.#traffic(),
      this.#table(),
      Promise.all([this.#rules(4), this.#rules(6)]),
      Promise.all([this.#routes(4), this.#routes(6)]),
      this.#ways(neighbours),
      this.#text("ip", ["-d", "-j", "link", "show"]),
      this.#forwards(4),
      this.#forwards(6),
      this.#isStrict(),
    ]);
    return {
      ...traffic,
      ...table,
      rules: new Map(rules.flat().map((rule) => [ruleKey(rule), rule])),
      routes: new Map(routes.flat().map((route) => [routeKey(route), route])),
      ways,
      ...parseLinks(links),
      forwards: { 4: forwards4, 6: forwards6 },
      isStrict,
    };
  }

  async apply(steps: readonly Step[]): Promise<string[]> {
    const complaints: string[] = [];
    for (const step of steps)
      for (const { tool, args, input } of callsOf(step))
        complaints.push(...complaintsOf(tool, await this.#run(tool, args, input)));
    return complaints;
  }

  async #traffic(): Promise<Pick<KernelState, "roots" | "devices" | "counters">> {
    const { roots, queues } = parseQdiscs(await this.#text("tc", ["-j", "qdisc", "show"]));
    const own = [...roots].filter(([, { owner }]) => owner === "manager");
    const found = await Promise.all(
      own.map(async ([device]) => {
        const text = await this.#text("tc", ["-s", "class", "show", "dev", device]);
        return { device, ...parseClasses(text, queues.get(device) ?? new Map()) };
      }),
    );
    return {
      roots,
      devices: new Map(found.map(({ device, classes }) => [device, classes])),
      counters: new Map(found.map(({ device, counters }) => [device, counters])),
    };
  }

  async #table(): Promise<ReturnType<typeof parseTable>> {
    const { status, stdout, stderr } = await this.#run("nft", LIST_TABLE);
    if (status === 0) return parseTable(stdout);
    if (stderr.includes("No such file or directory")) return NO_TABLE;
    throw failed("nft", LIST_TABLE, stderr);
  }

  async #rules(family: IpFamily): Promise<Rule[]> {
    return parseRules(await this.#text("ip", [`-${family}`, "-j", "rule", "show"]), family);
  }

  async #routes(family: IpFamily): Promise<ReturnType<typeof parseRoutes>> {
    const args = [`-${family}`, "-j", "route", "show", "table", "all", "proto", String(ROUTE_PROTOCOL)];
    return parseRoutes(await this.#text("ip", args), family);
  }

  async #ways(neighbours: readonly string[]): Promise<KernelState["ways"]> {
    if (neighbours.length === 0) return new Map();
    const input = lines(neighbours.map((address) => `route get ${address}`));
    // It fails if an address is unreachable, but prints the others.
    return parseWays((await this.#run("ip", ["-j", "-force", "-batch", "-"], input)).stdout);
  }

  async #forwards(family: IpFamily): Promise<boolean> {
    const { status, stdout } = await this.#run("cat", [FORWARDING[family]]);
    return status === 0 && stdout.trim() !== "0";
  }

  /** The strictest of all devices, the tunnel, and the default for a new device applies. */
  async #isStrict(): Promise<boolean> {
    const { stdout } = await this.#run(
      "cat",
      ["all", "default", TUNNEL.device].map((device) => `/proc/sys/net/ipv4/conf/${device}/rp_filter`),
    );
    const [all = "0", ...others] = stdout.trim().split("\n");
    return Math.max(Number(all), Number(others.at(-1) ?? "0")) === 1;
  }

  async #text(tool: string, args: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await this.#run(tool, args);
    if (status === 0) return stdout;
    throw failed(tool, args, stderr);
  }
}

function failed(tool: string, args: readonly string[], stderr: string): KernelError {
  const said = stderr.trim().split("\n").slice(0, SHOWN_LINES).join("; ");
  return new KernelError(
    "tool_failed",
    `${tool} ${args.join(" ")} must succeed, said ${JSON.stringify(said)}`,
  );
}

function complaintsOf(tool: string, { status, stderr }: ToolResult): string[] {
  if (status === 0) return [];
  const said = stderr
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("Command failed"))
    .slice(0, SHOWN_LINES);
  return said.length === 0 ? [`${tool}: ended with ${status}`] : said.map((line) => `${tool}: ${line}`);
}

interface Call {
  readonly tool: string;
  readonly args: readonly string[];
  readonly input: string;
}

function callsOf(step: Step): readonly Call[] {
  switch (step.tool) {
    case "tc":
      return [{ tool: "tc", args: ["-force", "-batch", "-"], input: lines(step.changes.map(trafficText)) }];
    case "nft":
      return [{ tool: "nft", args: ["-f", "-"], input: nftText(step.changes) }];
    case "ip":
      return ([4, 6] as const)
        .map((family) => step.changes.filter((change) => familyOfChange(change) === family))
        .filter((changes) => changes.length > 0)
        .map((changes) => ({
          tool: "ip",
          args: [`-${familyOfChange(changes[0]!)}`, "-force", "-batch", "-"],
          input: lines(changes.map(routingText)),
        }));
    default:
      return step satisfies never;
  }
}

function familyOfChange(change: RoutingChange): IpFamily {
  if ("tunnel" in change) return 4;
  return "rule" in change ? change.rule.match.family : change.route.family;
}

function lines(commands: readonly string[]): string {
  return commands.map((command) => `${command}\n`).join("");
}

function trafficText(change: TrafficChange): string {
  const handle = `${HANDLE.toString(16)}:`;
  switch (change.kind) {
    case "qdisc-add":
      return `qdisc add dev ${change.device} root handle ${handle} htb default 0`;
    case "qdisc-delete":
      return `qdisc delete dev ${change.device} root handle ${handle} htb`;
    case "class-add":
    case "class-change":
      return classText(change.kind === "class-add" ? "add" : "change", change.device, change.htb);
    case "class-delete":
      return `class delete dev ${change.device} classid ${classId(change.htb.minor)}`;
    case "queue-add":
    case "queue-change": {
      const verb = change.kind === "queue-add" ? "add" : "change";
      const { minor, queueBytes } = change.htb;
      return `qdisc ${verb} dev ${change.device} parent ${classId(minor)} bfifo limit ${queueBytes}`;
    }
    default:
      return change satisfies never;
  }
}

function classText(verb: "add" | "change", device: string, htb: HtbClass): string {
  const { minor, parent, rateBitsPerSecond: rate, ceilBitsPerSecond: ceil, priority } = htb;
  const above = parent === null ? `${HANDLE.toString(16)}:` : classId(parent);
  return [
    `class ${verb} dev ${device} parent ${above} classid ${classId(minor)} htb`,
    `rate ${rate}bit ceil ${ceil}bit burst ${burstBytesOf(rate)} cburst ${burstBytesOf(ceil)}`,
    `quantum ${QUANTUM_BYTES} prio ${priority}`,
  ].join(" ");
}

function routingText(change: RoutingChange): string {
  switch (change.kind) {
    case "rule-add":
    case "rule-delete":
      return ruleText(change.kind === "rule-add" ? "add" : "delete", change.rule);
    case "route-set":
    case "route-delete": {
      const { table, gateway, device } = change.route;
      const verb = change.kind === "route-set" ? "replace" : "delete";
      const next = device === TUNNEL.device ? encapText(gateway) : `via ${gateway}`;
      return `route ${verb} default ${next} dev ${device} table ${table} proto ${ROUTE_PROTOCOL}`;
    }
    case "tunnel-add": {
      const kind = `type vxlan external gpe dstport ${TUNNEL.port}`;
      return `link add ${TUNNEL.device} mtu ${change.tunnel.mtu} ${kind}\nlink set dev ${TUNNEL.device} up`;
    }
    case "tunnel-change":
      return `link set dev ${TUNNEL.device} mtu ${change.tunnel.mtu} up`;
    case "tunnel-delete":
      return `link delete dev ${TUNNEL.device}`;
    default:
      return change satisfies never;
  }
}

function encapText(remote: string): string {
  // Without `csum`, outer packets lack a checksum, and IPv6 receivers drop them.
  const kind = familyOf(remote) === 4 ? "ip" : "ip6";
  return `encap ${kind} id ${TUNNEL.id} dst ${remote}${kind === "ip6" ? " csum" : ""}`;
}

function ruleText(verb: "add" | "delete", { match, table }: Rule): string {
  const { protocol, source, sourcePort, target, targetPort } = match;
  return [
    `rule ${verb} from ${source} to ${target} ipproto ${protocol}`,
    sourcePort === null ? "" : ` sport ${sourcePort}`,
    targetPort === null ? "" : ` dport ${targetPort}`,
    ` lookup ${table} pref ${RULE_PREFERENCES[portsOf(match)]} protocol ${ROUTE_PROTOCOL}`,
  ].join("");
}
