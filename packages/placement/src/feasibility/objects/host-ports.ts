// As framework.HostPortInfo: 0.0.0.0 conflicts with every address.
import type { PodSpec } from "./fields.ts";
import { integer, records, text } from "./json.ts";

export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

export const ANY_IP = "0.0.0.0";

export function hostPortsOf(podSpec: PodSpec): HostPort[] {
  const lasting = records(podSpec.initContainers).filter((one) => one.restartPolicy === "Always");
  return [...lasting, ...records(podSpec.containers)].flatMap((container) =>
    records(container.ports)
      .map(({ hostPort, hostIP, protocol }) => ({
        ip: text(hostIP) || ANY_IP,
        protocol: text(protocol) || "TCP",
        port: integer(hostPort, 0),
      }))
      .filter(({ port }) => port > 0),
  );
}

export function conflicts(a: HostPort, b: HostPort): boolean {
  return (
    a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || a.ip === ANY_IP || b.ip === ANY_IP)
  );
}
