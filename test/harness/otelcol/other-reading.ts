import { exportRequest } from "@isochrone/telemetry/testing";

/** Decodes with another OTLP implementation. An empty message is equivalent to none. */
export function otherReading(bytes: Uint8Array): string {
  const request = exportRequest.toObject(exportRequest.decode(bytes), { longs: String });
  return JSON.stringify(request, (_, value: unknown) =>
    typeof value === "object" && value !== null && Object.keys(value).length === 0 ? undefined : value,
  );
}
