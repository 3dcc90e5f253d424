import type { HttpApp } from "@isochrone/runtime/http";
import { Type } from "typebox";
import type { ManagedResourceGuard } from "./managed-resource-guard.ts";

const ManagedResourceSchema = Type.Object(
  {
    resource: Type.Union([Type.String(), Type.Null()], {
      description: "extended resource; null when kube-scheduler asks about every pod, and none is needed",
    }),
    injectable: Type.Boolean(),
    reason: Type.Union([Type.String(), Type.Null()], {
      description: "why not; null when it may be injected",
    }),
    scheduledInARow: Type.Integer({ description: "canaries scheduled one after the other" }),
    lastScheduledAt: Type.Union([Type.String(), Type.Null()], { description: "RFC 3339" }),
  },
  { $id: "ManagedResource" },
);

export function addManagedResourceRoute(app: HttpApp, guard: ManagedResourceGuard | null): void {
  app.get("/api/v1/managed-resource", { schema: { response: { 200: ManagedResourceSchema } } }, () => {
    if (guard === null)
      return {
        resource: null,
        injectable: false,
        reason: "no managed resource is set (scheduler.managedResource)",
        scheduledInARow: 0,
        lastScheduledAt: null,
      };
    const { lastScheduledMs, ...state } = guard.state();
    return {
      resource: guard.resource,
      ...state,
      lastScheduledAt: lastScheduledMs === null ? null : new Date(lastScheduledMs).toISOString(),
    };
  });
}
