// Two network namespaces with a shaped link between them. Needs root and cleans up after itself.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { reasonOf } from "@isochrone/primitives";

interface Shape {
  readonly rateMbit: number;
  readonly burstKb: number;
}

export interface ShapedLink {
  readonly near: { readonly name: string; readonly path: string; readonly address: string };
  readonly far: { readonly name: string; readonly path: string; readonly address: string };
  shape(shape: Shape | null): void;
  sentBytes(): number;
  remove(): void;
}

export function whyNoShapedLink(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return "network namespaces need root on Linux";
  const name = nameOf("t");
  try {
    ip("netns", "add", name);
    try {
      ip("-n", name, "link", "add", "t0", "type", "veth", "peer", "name", "t1");
      tc(name, "qdisc", "replace", "dev", "t0", "root", "tbf", ...tbf({ rateMbit: 10, burstKb: 32 }));
      return null;
    } finally {
      ip("netns", "del", name);
    }
  } catch (error) {
    return `network namespaces or tbf don't work here: ${reasonOf(error)}`;
  }
}

/** Addresses of the documentation range (RFC 5737). */
export function createShapedLink(): ShapedLink {
  removeOrphans();
  const near = { name: nameOf("n"), path: "", address: "198.51.100.1" };
  const far = { name: nameOf("f"), path: "", address: "198.51.100.2" };
  const made: string[] = [];
  const remove = (): void => {
    for (const name of made.splice(0)) ip("netns", "del", name);
  };
  try {
    for (const side of [near, far]) {
      ip("netns", "add", side.name);
      made.push(side.name);
      side.path = `/var/run/netns/${side.name}`;
      ip("-n", side.name, "link", "set", "lo", "up");
    }
    ip("link", "add", "bw0", "netns", near.name, "type", "veth", "peer", "name", "bw0", "netns", far.name);
    for (const side of [near, far]) {
      ip("-n", side.name, "addr", "add", `${side.address}/24`, "dev", "bw0");
      ip("-n", side.name, "link", "set", "bw0", "up");
    }
  } catch (error) {
    remove();
    throw error;
  }
  let isShaped = false;
  const shape = (wanted: Shape | null): void => {
    if (isShaped) tc(near.name, "qdisc", "del", "dev", "bw0", "root");
    isShaped = wanted !== null;
    if (wanted !== null) tc(near.name, "qdisc", "add", "dev", "bw0", "root", "tbf", ...tbf(wanted));
  };
  const sentBytes = (): number => {
    const text = execFileSync("tc", ["-n", near.name, "-s", "qdisc", "show", "dev", "bw0"], {
      timeout: 10_000,
    });
    return Number(/Sent (\d+) bytes/.exec(text.toString())?.[1] ?? 0);
  };
  return { near, far, shape, sentBytes, remove };
}

function removeOrphans(): void {
  const list = execFileSync("ip", ["netns", "list"], { timeout: 10_000 }).toString();
  for (const [name, pid] of list.matchAll(/^isobw[a-z](\d+)x\d+/gm)) {
    if (!existsSync(`/proc/${pid}`)) ip("netns", "del", name);
  }
}

let made = 0;

function nameOf(kind: string): string {
  return `isobw${kind}${process.pid}x${++made}`;
}

function tbf({ rateMbit, burstKb }: Shape): string[] {
  return ["rate", `${rateMbit}mbit`, "burst", `${burstKb}kb`, "latency", "50ms"];
}

function ip(...args: string[]): void {
  execFileSync("ip", args, { stdio: "pipe", timeout: 10_000 });
}

function tc(namespace: string, ...args: string[]): void {
  execFileSync("tc", ["-n", namespace, ...args], { stdio: "pipe", timeout: 10_000 });
}
