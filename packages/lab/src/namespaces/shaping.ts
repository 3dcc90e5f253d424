import { entriesOf } from "@isochrone/primitives";
import { DEVICE, portName } from "./addresses.ts";
import { run } from "./commands.ts";
import { NamespaceError } from "./errors.ts";

export interface Shape {
  /** Whole Ethernet frames. */
  readonly rateBitsPerSecond: number;
  /** Burst after a silence. The kernel rounds it to its clock. */
  readonly burstBytes: number;
  /** Longest wait in the filter's queue; packets that would wait longer are dropped. */
  readonly latencyMs: number;
  /** Direction as seen from the node; "both" uses two filters. @default "sent" */
  readonly direction?: "sent" | "received" | "both";
}

export interface ShapingPoint {
  readonly namespace: string;
  readonly device: string;
}

const LIMITS = {
  rateBitsPerSecond: { min: 8000, max: 100e9 },
  burstBytes: { min: 1600, max: 1e9 },
  latencyMs: { min: 1, max: 60_000 },
} as const;

export function checkShape(node: string, shape: Shape): void {
  for (const [name, { min, max }] of entriesOf(LIMITS)) {
    const value = shape[name];
    if (typeof value === "number" && value >= min && value <= max) continue;
    throw new NamespaceError(
      "invalid_argument",
      `shape of ${node}: ${name} must be a number from ${min} to ${max}, got ${String(value)}`,
    );
  }
}

export function sentPoint(namespace: string): ShapingPoint {
  return { namespace, device: DEVICE };
}

export function hubPoint(hub: string, node: number): ShapingPoint {
  return { namespace: hub, device: portName(node) };
}

/** @throws NamespaceError `command_failed`, such as for a kernel without tbf */
export async function addShape(point: ShapingPoint, shape: Shape): Promise<void> {
  // Not replaced in place: a large segment in the old bucket would never fit a smaller one, and block the
  // device.
  await removeShape(point);
  const { namespace, device } = point;
  const rate = `${Math.round(shape.rateBitsPerSecond)}bit`;
  const latency = `${Math.round(shape.latencyMs * 1000)}us`;
  const burst = `${Math.round(shape.burstBytes)}b`;
  const tbf = ["tbf", "rate", rate, "burst", burst, "latency", latency];
  await run("tc", ["-n", namespace, "qdisc", "add", "dev", device, "root", ...tbf]);
}

export async function removeShape({ namespace, device }: ShapingPoint): Promise<void> {
  const shown = await run("tc", ["-n", namespace, "qdisc", "show", "dev", device]);
  if (shown.includes("qdisc tbf")) await run("tc", ["-n", namespace, "qdisc", "del", "dev", device, "root"]);
}
