import { Counter, Gauge, type Registry } from "prom-client";
import type { Reading } from "./domain/flow-meter.ts";
import { UNMET_REASONS } from "./domain/wanted.ts";
import { MODES, type Mode } from "./ports/modes.ts";
import type { PlanRefusal } from "./plan-keeper.ts";
import type { Report } from "./reconciler.ts";

const BEYOND_RATIO = 1.05;

export class ManagerMetrics {
  readonly #configured: Mode;
  readonly #mode: Gauge<"configured" | "mode">;
  readonly #planAge: Gauge;
  readonly #planErrors: Counter;
  readonly #planRefused: Counter<"reason">;
  readonly #flows: Gauge<"state">;
  readonly #unmet: Gauge<"reason">;
  readonly #foreign: Gauge;
  readonly #pending: Gauge;
  readonly #changes: Counter;
  readonly #beyond: Gauge;
  readonly #sent: Counter;
  readonly #dropped: Counter;
  readonly #refused: Counter;
  #refusedBefore = 0;

  constructor(registry: Registry, configured: Mode) {
    this.#configured = configured;
    const registers = [registry];
    this.#mode = new Gauge({
      name: "isochrone_network_manager_mode",
      help: "1 for the mode in force, beside that of the settings: observe where that one isn't possible.",
      labelNames: ["configured", "mode"],
      registers,
    });
    this.#planAge = new Gauge({
      name: "isochrone_network_manager_plan_age_seconds",
      help: "Time since the aggregator last confirmed the flow plan; -1: it never did.",
      registers,
    });
    this.#planErrors = new Counter({
      name: "isochrone_network_manager_plan_errors_total",
      help: "Attempts to read the flow plan that failed.",
      registers,
    });
    this.#planRefused = new Counter({
      name: "isochrone_network_manager_plan_refused_total",
      help: "Flow plans that were not taken, by reason.",
      labelNames: ["reason"],
      registers,
    });
    this.#flows = new Gauge({
      name: "isochrone_network_manager_flows",
      help: "Flows of the plan: those with a class here, those without one, and those that end here.",
      labelNames: ["state"],
      registers,
    });
    this.#unmet = new Gauge({
      name: "isochrone_network_manager_flows_unmet",
      help: "Flows that don't get what the plan says, by reason; with capacity_exceeded they have a class with less.",
      labelNames: ["reason"],
      registers,
    });
    this.#foreign = new Gauge({
      name: "isochrone_network_manager_foreign_qdiscs",
      help: "Devices whose root qdisc is neither the kernel's nor the manager's; they are left alone.",
      registers,
    });
    this.#pending = new Gauge({
      name: "isochrone_network_manager_changes_pending",
      help: "Changes of the kernel that are missing: refused by it, or in observe those that guarantee would make.",
      registers,
    });
    this.#changes = new Counter({
      name: "isochrone_network_manager_changes_total",
      help: "Changes of the kernel that were made.",
      registers,
    });
    this.#beyond = new Gauge({
      name: "isochrone_network_manager_flows_beyond_rate",
      help: "Flows that sent over 5 % more than they may, between the last two readings.",
      registers,
    });
    this.#sent = new Counter({
      name: "isochrone_network_manager_sent_bytes_total",
      help: "What planned flows have sent, headers included.",
      registers,
    });
    this.#dropped = new Counter({
      name: "isochrone_network_manager_dropped_packets_total",
      help: "Packets of planned flows for which their queues had no room.",
      registers,
    });
    this.#refused = new Counter({
      name: "isochrone_network_manager_tunnel_refused_packets_total",
      help: "Packets to the tunnel's port that no neighbour of the plan has sent; they are dropped.",
      registers,
    });
  }

  planRefused(reason: PlanRefusal): void {
    this.#planRefused.inc({ reason });
  }

  planUnreachable(): void {
    this.#planErrors.inc();
  }

  planAge(seconds: number | null): void {
    this.#planAge.set(seconds ?? -1);
  }

  report({ mode, flows, pending, changes, kernel }: Report): void {
    for (const each of MODES)
      this.#mode.set({ configured: this.#configured, mode: each }, each === mode ? 1 : 0);
    const unmet = new Map<string, number>();
    let [placed, refused] = [0, 0];
    for (const flow of flows) {
      if (flow.place !== null) placed++;
      else if (flow.unmet !== null) refused++;
      const reason = flow.unmet?.reason;
      if (reason !== undefined) unmet.set(reason, (unmet.get(reason) ?? 0) + 1);
    }
    this.#flows.set({ state: "placed" }, placed);
    this.#flows.set({ state: "unmet" }, refused);
    this.#flows.set({ state: "ends_here" }, flows.length - placed - refused);
    for (const reason of UNMET_REASONS) this.#unmet.set({ reason }, unmet.get(reason) ?? 0);
    this.#pending.set(pending);
    this.#changes.inc(changes);
    if (kernel === null) return;
    this.#foreign.set(foreignRoots(kernel).length);
    this.#countRefused(kernel.refusedPackets);
  }

  #countRefused(packets: number): void {
    this.#refused.inc(packets < this.#refusedBefore ? packets : packets - this.#refusedBefore);
    this.#refusedBefore = packets;
  }

  reading({ flows }: Reading): void {
    let beyond = 0;
    for (const { sentBytes, droppedPackets, achievedBitsPerSecond, ceilBitsPerSecond } of flows) {
      this.#sent.inc(sentBytes);
      this.#dropped.inc(droppedPackets);
      if (achievedBitsPerSecond > ceilBitsPerSecond * BEYOND_RATIO) beyond++;
    }
    this.#beyond.set(beyond);
  }
}

export function foreignRoots({ roots }: NonNullable<Report["kernel"]>): string[] {
  return [...roots].flatMap(([device, { owner, name }]) => (owner === "other" ? [`${device}: ${name}`] : []));
}
