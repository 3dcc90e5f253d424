import type { HttpApp } from "@isochrone/runtime/http";
import { DeschedulerReportSchema, emptyReport } from "./report.ts";
import type { Descheduler } from "./descheduler.ts";

export function addDeschedulerRoute(
  app: HttpApp,
  descheduler: Pick<Descheduler, "report"> | null,
  replica: string | null,
): void {
  app.get("/api/v1/descheduler", { schema: { response: { 200: DeschedulerReportSchema } } }, () => {
    const report = descheduler?.report() ?? emptyReport("off");
    return { ...report, ...(replica === null ? {} : { replica }) };
  });
}
