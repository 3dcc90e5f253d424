import type { RequestListener } from "node:http";
import { expect, vi } from "vitest";
import { ask } from "./client.ts";
import type { DispatchRig } from "./dispatch-rig.ts";

export class Counted {
  requests = 0;
  readonly listener: RequestListener;

  constructor(answer: RequestListener) {
    this.listener = (request, response) => {
      this.requests++;
      return answer(request, response);
    };
  }
}

export const after =
  (ms: number, status = 200): RequestListener =>
  (_request, response) =>
    void setTimeout(() => response.writeHead(status).end(), ms);

export async function load(rig: DispatchRig, requests: number, clients: number): Promise<number[]> {
  const statuses: number[] = [];
  const client = async (): Promise<void> => {
    while (statuses.length < requests) {
      const at = statuses.push(0) - 1;
      statuses[at] = (await ask(rig.port)).status;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return statuses;
}

export async function known(rig: DispatchRig, endpoints: number): Promise<void> {
  await vi.waitFor(
    async () => {
      await ask(rig.port);
      expect(rig.dispatcher.decisions(null, 1)[0]?.endpoints).toBe(endpoints);
    },
    { timeout: 20_000, interval: 100 },
  );
}
