import type { HttpApp } from "@isochrone/runtime/http";
import { DeschedulerReportSchema } from "./report.ts";
import type { DeschedulerReport } from "./report.ts";

/** Adds `GET /api/v1/descheduler`. */
export function addDeschedulerRoute(app: HttpApp, report: () => DeschedulerReport): void {
  app.get("/api/v1/descheduler", { schema: { response: { 200: DeschedulerReportSchema } } }, () => report());
}
