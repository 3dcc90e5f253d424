import type { Clock, Logger } from "@isochrone/runtime";
import type { FlowPlan } from "@isochrone/topology";
import { changesIn, difference, type Step } from "./domain/difference.ts";
import { canonicalAddress, routeKey, type KernelState } from "./domain/kernel-state.ts";
import { Leaving } from "./domain/leaving.ts";
import { wantedState, type ActiveMode, type FlowPlacement, type Wanted } from "./domain/wanted.ts";
import { KernelError } from "./ports/errors.ts";
import type { Mode } from "./ports/modes.ts";
import type { KernelPort, NodeLock } from "./ports/ports.ts";

export interface Report {
  readonly mode: Mode;
  /** Why it differs from the configured mode; null: it does not. */
  readonly reason: string | null;
  /** Whether the reason is another manager on the node, which must be stopped manually. */
  readonly isSecond: boolean;
  readonly flows: readonly FlowPlacement[];
  readonly pending: number;
  readonly complaints: readonly string[];
  readonly changes: number;
  readonly kernel: KernelState | null;
  /** Whether delayed removals remain for the next run. */
  readonly isLeaving: boolean;
}

interface ReconcilerDeps {
  readonly mode: Mode;
  readonly retryMs: number;
  readonly kernel: KernelPort;
  readonly lock: NodeLock;
  readonly clock: Clock;
  readonly logger: Logger;
}

const MISSING_PART = /operation not permitted|qdisc kind is unknown|not supported|unknown qdisc/i;
const PREVIEWED: ActiveMode = "guarantee";

export class Reconciler {
  readonly #deps: ReconcilerDeps;
  readonly #leaving = new Leaving();
  #obstacle: { readonly text: string; readonly untilMs: number } | null = null;

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
  }

  /** @param plan null: remove all; "wait": keep all */
  async run(plan: FlowPlan | null | "wait"): Promise<Report> {
    const { lock, mode } = this.#deps;
    try {
      if (!(await lock.hold())) return handsOff("another network manager runs on this node", true);
      const kernel = await this.#read(plan);
      if (plan === "wait" && mode === "observe") return await this.#observe(null, kernel, null, null);
      if (plan === "wait") return { ...handsOff("no flow plan yet"), kernel };
      const active = this.#activeMode();
      const preview = plan === null ? null : wantedState(plan, active ?? PREVIEWED, kernel);
      const reason = mode === "observe" ? null : (this.#obstacle?.text ?? null);
      if (active === null) return await this.#observe(plan, kernel, preview, reason);
      return await this.#enforce(plan, kernel, preview, active);
    } catch (error) {
      if (!(error instanceof KernelError)) throw error;
      this.#deps.logger.warnOnce(error.code, "the kernel's state can't be read", { error });
      return handsOff(error.message);
    }
  }

  #read(plan: FlowPlan | null | "wait"): Promise<KernelState> {
    const neighbours = plan === null || plan === "wait" ? [] : plan.neighbours;
    return this.#deps.kernel.read(neighbours.map(({ address }) => canonicalAddress(address)));
  }

  #activeMode(): ActiveMode | null {
    const { mode, clock } = this.#deps;
    if (mode === "observe") return null;
    if (this.#obstacle !== null && clock.monotonic() >= this.#obstacle.untilMs) this.#obstacle = null;
    return this.#obstacle === null ? mode : null;
  }

  /** Sets nothing and reverts other modes' changes. */
  async #observe(
    plan: FlowPlan | null,
    kernel: KernelState,
    preview: Wanted | null,
    reason: string | null,
  ): Promise<Report> {
    const report = await this.#apply(plan, kernel, null, { mode: "observe", reason });
    const pending = preview === null ? 0 : changesIn(difference(report.kernel ?? kernel, preview.state));
    return { ...report, flows: preview?.flows ?? [], pending: pending + report.pending };
  }

  async #enforce(
    plan: FlowPlan | null,
    kernel: KernelState,
    wanted: Wanted | null,
    mode: ActiveMode,
  ): Promise<Report> {
    const report = await this.#apply(plan, kernel, wanted, { mode, reason: null });
    const missing =
      report.pending === 0 ? undefined : report.complaints.find((said) => MISSING_PART.test(said));
    if (missing === undefined) return report;
    const { clock, retryMs, logger } = this.#deps;
    const text = `a part of the kernel, or the right to use it, is missing: ${missing}`;
    this.#obstacle = { text, untilMs: clock.monotonic() + retryMs };
    logger.warn("the mode isn't possible here, observing", { mode, missing });
    return await this.#observe(plan, report.kernel!, wanted, text);
  }

  async #apply(
    plan: FlowPlan | null,
    kernel: KernelState,
    wanted: Wanted | null,
    { mode, reason }: Pick<Report, "mode" | "reason">,
  ): Promise<Report> {
    const target = this.#leaving.with(wanted?.state ?? null, kernel, this.#deps.clock.monotonic());
    const steps = difference(kernel, target);
    const flows = wanted?.flows ?? [];
    const isLeaving = this.#leaving.isAny;
    const none = {
      mode,
      reason,
      isSecond: false,
      flows,
      kernel,
      pending: 0,
      complaints: [],
      changes: 0,
      isLeaving,
    };
    if (steps.length === 0) return none;
    const complaints = await this.#deps.kernel.apply(steps);
    const after = await this.#read(plan);
    const left = difference(after, target);
    this.#log(steps, left, complaints);
    return {
      ...none,
      flows: readBack(flows, after),
      kernel: after,
      pending: changesIn(left),
      complaints,
      changes: changesIn(steps),
    };
  }

  #log(steps: readonly Step[], left: readonly Step[], complaints: readonly string[]): void {
    const { logger } = this.#deps;
    const said = complaints.slice(0, 5);
    if (left.length > 0)
      logger.warn("the kernel didn't take everything", {
        changes: changesIn(steps),
        left: changesIn(left),
        said,
      });
    else logger.info("flows set", { changes: changesIn(steps) });
  }
}

function handsOff(reason: string, isSecond = false): Report {
  return {
    mode: "observe",
    reason,
    isSecond,
    flows: [],
    pending: 0,
    complaints: [],
    changes: 0,
    kernel: null,
    isLeaving: false,
  };
}

function readBack(
  flows: readonly FlowPlacement[],
  { devices, marks, rules, routes }: KernelState,
): FlowPlacement[] {
  const routed = (rule: string): boolean => {
    const found = rules.get(rule);
    return found !== undefined && routes.has(routeKey({ family: found.match.family, table: found.table }));
  };
  const marked = new Set([...marks.values()].map(({ minor }) => minor));
  return flows.map((placement) => {
    const { place, flow } = placement;
    if (place === null) return placement;
    const { device, minor, ceilBitsPerSecond, rule } = place;
    const ceil = devices.get(device)?.get(minor)?.ceilBitsPerSecond;
    const isThere = ceil === ceilBitsPerSecond && marked.has(minor) && (rule === null || routed(rule));
    if (isThere) return placement;
    const text = `${flow.id} isn't on ${device} as it was set`;
    return { flow, place: null, unmet: { reason: "not_in_kernel", text } };
  });
}
