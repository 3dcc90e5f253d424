// Parses tc output: its classes have no JSON in common versions, its qdiscs do.
import { KernelError } from "../../ports/errors.ts";
import {
  HANDLE,
  minorOf,
  type ClassCounters,
  type HtbClass,
  type RootQdisc,
} from "../../domain/kernel-state.ts";
import { parseRate } from "../../domain/rates.ts";
import { arrayOf, numberOf, objectOf, textOf } from "./json.ts";

const OWN_HANDLE = `${HANDLE.toString(16)}:`;
const KERNELS_HANDLE = "0:";

interface Qdiscs {
  readonly roots: ReadonlyMap<string, RootQdisc>;
  /** Queued bytes below the manager's classes, by device and minor number. */
  readonly queues: ReadonlyMap<string, ReadonlyMap<number, number>>;
}

export function parseQdiscs(text: string): Qdiscs {
  const roots = new Map<string, RootQdisc>();
  const queues = new Map<string, Map<number, number>>();
  for (const qdisc of arrayOf(text, "tc qdisc")) {
    const { kind, handle, dev, root, parent, options } = objectOf(qdisc, "tc qdisc");
    const device = textOf(dev, "tc qdisc dev");
    const minor = typeof parent === "string" ? minorOf(parent) : null;
    if (root === true)
      roots.set(device, rootOf(textOf(kind, "tc qdisc kind"), textOf(handle, "tc qdisc handle")));
    else if (minor !== null && kind === "bfifo") {
      const { limit } = objectOf(options, "tc qdisc options");
      const sizes = queues.get(device) ?? new Map<number, number>();
      queues.set(device, sizes.set(minor, numberOf(limit, "tc qdisc limit")));
    }
  }
  return { roots, queues };
}

function rootOf(kind: string, handle: string): RootQdisc {
  const name = `${kind} ${handle}`;
  if (handle === KERNELS_HANDLE) return { owner: "kernel", name };
  return { owner: kind === "htb" && handle === OWN_HANDLE ? "manager" : "other", name };
}

interface Classes {
  readonly classes: ReadonlyMap<number, HtbClass>;
  readonly counters: ReadonlyMap<number, ClassCounters>;
}

const CLASS = /^class htb (\S+) (?:parent (\S+)|root)(?: leaf \S+)?(?: prio (\d+))? rate (\S+) ceil (\S+) /;
const SENT = /^ Sent (\d+) bytes \d+ pkts? \(dropped (\d+),/;
const QUEUED = /^ backlog \w+ (\d+)p /;

/** Parses `tc -s class show dev DEVICE` of a device with the manager's root qdisc. */
export function parseClasses(text: string, queues: ReadonlyMap<number, number>): Classes {
  const classes = new Map<number, HtbClass>();
  const counters = new Map<number, ClassCounters>();
  let minor: number | null = null;
  for (const line of text.split("\n")) {
    if (line.startsWith("class ")) {
      const htb = classOf(line, queues);
      minor = htb?.minor ?? null;
      if (htb !== null) classes.set(htb.minor, htb);
    }
    const [, sent, dropped] = SENT.exec(line) ?? [];
    if (minor !== null && sent !== undefined)
      counters.set(minor, { sentBytes: Number(sent), droppedPackets: Number(dropped), queuedPackets: 0 });
    const [, queued] = QUEUED.exec(line) ?? [];
    const counted = minor === null ? undefined : counters.get(minor);
    if (counted !== undefined && queued !== undefined)
      counters.set(minor!, { ...counted, queuedPackets: Number(queued) });
  }
  return { classes, counters };
}

/** Null: belongs to a qdisc below a class, which is not the manager's. */
function classOf(line: string, queues: ReadonlyMap<number, number>): HtbClass | null {
  if (!line.startsWith("class htb ")) return null;
  const [, id = "", parent, priority, rate = "", ceil = ""] = CLASS.exec(line) ?? [];
  const [rateBitsPerSecond, ceilBitsPerSecond] = [parseRate(rate), parseRate(ceil)];
  if (rateBitsPerSecond === null || ceilBitsPerSecond === null)
    throw new KernelError(
      "not_understood",
      `tc class must have a rate and a ceil, got ${JSON.stringify(line)}`,
    );
  const minor = minorOf(id);
  if (minor === null) return null;
  return {
    minor,
    parent: parent === undefined ? null : minorOf(parent),
    rateBitsPerSecond,
    ceilBitsPerSecond,
    priority: Number(priority ?? 0),
    queueBytes: queues.get(minor) ?? null,
  };
}
