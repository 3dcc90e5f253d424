// Probes kernel features for a manager in temporary network namespaces.
import { HANDLE, FIRST_TABLE, ROUTE_PROTOCOL, RULE_PREFERENCES, TUNNEL } from "./domain/kernel-state.ts";
import { KernelError } from "./ports/errors.ts";
import { toolRunner } from "./adapters/iproute/run-tool.ts";
import { parseQdiscs } from "./adapters/iproute/tc-text.ts";

interface KernelPart {
  readonly part: string;
  readonly obstacle: string | null;
}

export interface KernelParts {
  readonly parts: readonly KernelPart[];
  /** `eth0: fq 8001:`; null: unreadable. */
  readonly foreignQdiscs: readonly string[] | null;
}

const ATTEMPTS = [
  {
    part: "HTB queues",
    tool: "tc",
    args: ["qdisc", "add", "dev", "lo", "root", "handle", `${HANDLE.toString(16)}:`, "htb"],
  },
  {
    part: "nftables",
    tool: "nft",
    args: [
      "add table inet isochrone-flows",
      "add chain inet isochrone-flows in",
      `add rule inet isochrone-flows in udp dport ${TUNNEL.port} fib saddr . iif oif missing drop`,
    ].map((command) => `${command};`),
  },
  {
    part: "policy routing",
    tool: "ip",
    args: [
      "rule add from 192.0.2.1 to 192.0.2.2 ipproto tcp dport 7000",
      `lookup ${FIRST_TABLE} pref ${RULE_PREFERENCES.target} protocol ${ROUTE_PROTOCOL}`,
    ].flatMap((words) => words.split(" ")),
  },
  {
    part: "VXLAN",
    tool: "ip",
    args: `link add ${TUNNEL.device} type vxlan external gpe dstport ${TUNNEL.port}`.split(" "),
  },
];

export async function lookAtKernelParts(): Promise<KernelParts> {
  const isRoot = process.geteuid?.() === 0;
  const apart = toolRunner(["unshare", ...(isRoot ? [] : ["--user", "--map-root-user"]), "--net"]);
  const obstacleOf = async (tool: string, args: readonly string[]): Promise<string | null> => {
    try {
      const { status, stderr } = await apart(tool, args);
      return status === 0 ? null : `${tool}: ${stderr.trim().split("\n")[0] ?? `ended with ${status}`}`;
    } catch (error) {
      if (error instanceof KernelError) return error.message;
      throw error;
    }
  };
  const parts: KernelPart[] = [];
  for (const { part, tool, args } of ATTEMPTS) parts.push({ part, obstacle: await obstacleOf(tool, args) });
  return { parts, foreignQdiscs: await foreignQdiscs() };
}

async function foreignQdiscs(): Promise<readonly string[] | null> {
  try {
    const { status, stdout } = await toolRunner()("tc", ["-j", "qdisc", "show"]);
    if (status !== 0) return null;
    const { roots } = parseQdiscs(stdout);
    return [...roots].flatMap(([device, { owner, name }]) =>
      owner === "other" ? [`${device}: ${name}`] : [],
    );
  } catch (error) {
    if (error instanceof KernelError) return null;
    throw error;
  }
}
