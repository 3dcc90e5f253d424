import { looseFields, looseList, looseText } from "@isochrone/primitives";
import type { KernelParts } from "@isochrone/network-manager";
import type { StreamsSnapshot } from "@isochrone/topology";
import { NAME_A_SERVER, ok, skipped, verdict, type Verdict } from "./finding.ts";

interface ManagerPage {
  readonly url: string;
  /** Null: see `error`. */
  readonly json: unknown;
  readonly error: string | null;
}

interface FlowFacts {
  readonly platform: string;
  readonly machine: KernelParts;
  /** Null: none was named. */
  readonly manager: ManagerPage | null;
  /** Null: see `why`. */
  readonly streams: StreamsSnapshot | null;
  readonly why: string;
}

const MAX_PLAN_AGE_SECONDS = 10;
const BEHIND = 0.9;
const SHOWN = 5;

export function judgeFlows({ platform, machine, manager, streams, why }: FlowFacts): Verdict[] {
  return [
    ...(platform === "linux" ? machineVerdicts(machine) : [notLinux(platform)]),
    ...managerVerdicts(manager),
    streamsVerdict(streams, why),
  ];
}

const PARTS = {
  check: "kernel parts",
  looked: "tc, nft and ip on this machine, in network namespaces of their own",
  rule: "a node whose manager sets rates has HTB queues, nftables and policy routing; VXLAN for paths over routers",
  remedy:
    "On a node: install iproute2 and nftables, and load sch_htb and vxlan (`modprobe -a sch_htb vxlan`); elsewhere it doesn't matter.",
};

function notLinux(platform: string): Verdict {
  return skipped({ ...PARTS, why: `${platform}: network managers run on Linux` });
}

function machineVerdicts({ parts, foreignQdiscs }: KernelParts): Verdict[] {
  const missing = parts.flatMap(({ part, obstacle }) => (obstacle === null ? [] : [`${part} (${obstacle})`]));
  const there = parts.map(({ part }) => part).join(", ");
  const qdiscs = {
    check: "root qdiscs",
    looked: "tc qdisc show on this machine",
    rule: "devices that flows leave by have the kernel's default, or the manager's",
    remedy: QDISC_REMEDY,
  };
  return [
    verdict(missing.length === 0, "info", {
      ...PARTS,
      value: missing.length === 0 ? there : `missing: ${missing.join("; ")}`,
    }),
    foreignQdiscs === null
      ? skipped({ ...qdiscs, why: "tc doesn't say them", remedy: PARTS.remedy })
      : verdict(foreignQdiscs.length === 0, "info", { ...qdiscs, value: listOf(foreignQdiscs) }),
  ];
}

const QDISC_REMEDY =
  "On such a device flows get no rate: remove its qdisc, if nobody needs it, by `tc qdisc del dev DEVICE root` (docs/network-manager.md).";

type PageFields = Record<
  | "complaints"
  | "devices"
  | "flows"
  | "foreignQdiscs"
  | "isSecond"
  | "mode"
  | "node"
  | "pendingChanges"
  | "plan"
  | "reason"
  | "tunnel",
  unknown
>;
type FlowFields = Record<"id" | "unmet", unknown>;

function managerVerdicts(manager: ManagerPage | null): Verdict[] {
  const parts = {
    check: "network manager",
    looked: manager === null ? "a network manager's /api/v1/flows" : manager.url,
    rule: "it does what flows.mode says",
  };
  if (manager === null)
    return [
      skipped({
        ...parts,
        why: "no network manager is named",
        remedy:
          "Name one by --network-manager http://127.0.0.1:7414, after `kubectl -n isochrone port-forward POD 7414` for the pod of the node in question.",
      }),
    ];
  const { json, error } = manager;
  if (error !== null)
    return [
      verdict(false, "error", {
        ...parts,
        value: error,
        remedy: "Read its log: `kubectl -n isochrone logs daemonset/isochrone-network-manager`.",
      }),
    ];
  const page = looseFields<PageFields>(json);
  return [
    modeVerdict(page, parts),
    planVerdict(page, manager.url),
    driftVerdict(page, manager.url),
    foreignVerdict(page, manager.url),
    unmetVerdict(page, manager.url),
    mtuVerdict(page, manager.url),
  ];
}

type Page = Partial<PageFields>;

function modeVerdict(
  { mode, reason, isSecond, node }: Page,
  parts: { readonly check: string; readonly looked: string; readonly rule: string },
): Verdict {
  const why = looseText(reason);
  return verdict(reason === null, isSecond === true ? "error" : "warning", {
    ...parts,
    value: `${looseText(node)}: ${looseText(mode) || "nothing yet"}${why === "" ? "" : `, because ${why}`}`,
    remedy:
      isSecond === true
        ? "Find the other one by `ss -xlp | grep isochrone-network-manager` on the node: two releases with networkManager.enabled, or one that was started by hand."
        : "Make the node have what the reason names; the manager tries again after five minutes (docs/network-manager.md).",
  });
}

function planVerdict({ plan }: Page, looked: string): Verdict {
  const { ageSeconds } = looseFields<Record<"ageSeconds", unknown>>(plan);
  const age = typeof ageSeconds === "number" ? ageSeconds : null;
  return verdict(age !== null && age <= MAX_PLAN_AGE_SECONDS, "warning", {
    check: "flow plan",
    looked,
    value: age === null ? "none was ever confirmed" : `confirmed ${age.toFixed(1)} s ago`,
    rule: `the aggregator confirmed it in the last ${MAX_PLAN_AGE_SECONDS} s`,
    remedy:
      "See docs/runbooks/IsochroneFlowPlanNotApplied.md: streams.enabled, aggregator.decisionsUrl, and the manager's way to the aggregator.",
  });
}

function driftVerdict({ pendingChanges, complaints, mode }: Page, looked: string): Verdict {
  const pending = typeof pendingChanges === "number" ? pendingChanges : 0;
  const said = textsOf(complaints).slice(0, 2).join("; ");
  const parts = { check: "drift", looked, rule: "the kernel has what the plan wants" };
  if (mode === "observe")
    return ok({ ...parts, value: `it observes; guarantee would make ${pending} changes` });
  return verdict(pending === 0, "warning", {
    ...parts,
    value: pending === 0 ? "none" : `${pending} changes are missing${said === "" ? "" : `: ${said}`}`,
    remedy: "Read the manager's log for what the kernel refused, and look for who changes its rules.",
  });
}

function foreignVerdict({ foreignQdiscs }: Page, looked: string): Verdict {
  const foreign = textsOf(foreignQdiscs);
  return verdict(foreign.length === 0, "warning", {
    check: "foreign qdiscs",
    looked,
    value: listOf(foreign),
    rule: "no device that flows leave by has a root qdisc of somebody else",
    remedy: QDISC_REMEDY,
  });
}

const UNMET_REMEDIES: Readonly<Record<string, string>> = {
  neighbour_unreachable: "Give the node a route to its neighbour.",
  capacity_unknown: "Declare the link in a FlowNetwork (docs/streams.md).",
  capacity_exceeded: "Declare the link's capacity, or promise less.",
  not_routed: "Set settings.flows.mode to route.",
  foreign_device: "Give the device isochrone-vx another name: the manager's tunnel has this one.",
  reverse_path_filter:
    "Loosen it: `sysctl -w net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.default.rp_filter=2`, and restart the manager.",
  not_forwarding: "Switch forwarding on: `sysctl -w net.ipv4.ip_forward=1`.",
};

function unmetVerdict({ flows }: Page, looked: string): Verdict {
  const all = looseList<FlowFields>(flows);
  const reasons = new Map<string, number>();
  for (const { unmet } of all) {
    if (unmet === null || unmet === undefined) continue;
    const reason = looseText(looseFields<Record<"reason", unknown>>(unmet).reason);
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  const counts = [...reasons].sort((a, b) => b[1] - a[1]).map(([reason, count]) => `${count} ${reason}`);
  const remedies = [...reasons.keys()].flatMap((reason) => {
    const remedy = new Map(Object.entries(UNMET_REMEDIES)).get(reason);
    return remedy === undefined ? [] : [remedy];
  });
  return verdict(reasons.size === 0, "warning", {
    check: "flows",
    looked,
    value: reasons.size === 0 ? `${all.length}, all as planned` : `of ${all.length}: ${counts.join(", ")}`,
    rule: "each flow gets what the plan says",
    remedy: remedies.join(" ") || "Read the reasons at the manager's /api/v1/flows.",
  });
}

function mtuVerdict({ devices, tunnel }: Page, looked: string): Verdict {
  const known = looseList<Record<"mtu" | "name", unknown>>(devices).flatMap(({ name, mtu }) =>
    typeof mtu === "number" ? [{ name: looseText(name), mtu }] : [],
  );
  const sizes = new Set(known.map(({ mtu }) => mtu));
  const { device, mtu: inside } = looseFields<Record<"device" | "mtu", unknown>>(tunnel);
  // Tunnel headers reduce the MTU; hosts learn it by path MTU discovery.
  const tunnelled = typeof inside === "number" ? [`${inside} inside ${looseText(device)}`] : [];
  const values = [...known.map(({ name, mtu }) => `${name} ${mtu}`), ...tunnelled];
  return verdict(sizes.size <= 1, "warning", {
    check: "MTU",
    looked,
    value: values.length === 0 ? "not known" : values.join(", "),
    rule: "devices that flows leave by have the same",
    remedy:
      "A flow that takes another path meets another MTU: set the same on all, or let ICMP's `fragmentation needed` through.",
  });
}

function streamsVerdict(streams: StreamsSnapshot | null, why: string): Verdict {
  const parts = {
    check: "stream jobs",
    looked: "/api/v1/streams of the aggregator",
    rule: "promises are kept, and jobs get what is predicted",
    remedy: "`isochrone streams explain NAME -n NAMESPACE` says what limits it and what it waits for.",
  };
  if (streams === null) return skipped({ ...parts, why, remedy: NAME_A_SERVER });
  const named = (jobs: StreamsSnapshot["jobs"]): string =>
    listOf(jobs.map(({ namespace, name }) => `${namespace}/${name}`));
  const { jobs } = streams;
  const broken = jobs.filter(
    ({ minThroughput, framesPerSecond }) =>
      minThroughput !== null && framesPerSecond !== null && framesPerSecond < minThroughput * (1 - 1e-6),
  );
  const slow = jobs.filter(
    ({ measuredFramesPerSecond: measured, framesPerSecond: predicted }) =>
      measured !== null && predicted !== null && measured < predicted * BEHIND,
  );
  const waiting = jobs.filter(({ framesPerSecond }) => framesPerSecond === null);
  if (broken.length > 0)
    return verdict(false, "error", { ...parts, value: `promises are broken of ${named(broken)}` });
  if (slow.length > 0)
    return verdict(false, "warning", { ...parts, value: `slower than predicted: ${named(slow)}` });
  return verdict(waiting.length === 0, "info", {
    ...parts,
    value: waiting.length === 0 ? `${jobs.length}, as predicted` : `without nodes: ${named(waiting)}`,
  });
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function listOf(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "";
  return `${names.slice(0, SHOWN).join(", ")}${more}`;
}
