import type { FlowPlan } from "@isochrone/topology";
import type { PlanCache, PlanSource } from "../ports/ports.ts";

export class SettablePlans implements PlanSource {
  answer: FlowPlan | Error;
  standing: FlowPlan | null = null;

  constructor(answer: FlowPlan | Error) {
    this.answer = answer;
  }

  async fetch(standing: FlowPlan | null): Promise<FlowPlan> {
    this.standing = standing;
    if (this.answer instanceof Error) throw this.answer;
    return this.answer;
  }
}

export class MemoryCache implements PlanCache {
  kept: unknown = null;

  async read(): Promise<unknown> {
    return this.kept;
  }

  async write(plan: FlowPlan): Promise<void> {
    this.kept = plan;
  }
}
