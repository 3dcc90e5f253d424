import { exportRequest } from "@isochrone/telemetry/testing";

/** As another implementation of OTLP reads it. A message that is there but empty says the same as none. */
export function otherReading(bytes: Uint8Array): string {
  const request = exportRequest.toObject(exportRequest.decode(bytes), { longs: String });
  return JSON.stringify(request, (_, value: unknown) =>
    typeof value === "object" && value !== null && Object.keys(value).length === 0 ? undefined : value,
  );
}
