import type { EngineConfig, EngineSnapshot, PacketKey, ProbePeer } from "../ports/ports.ts";

export type ToWorker =
  | { readonly type: "open"; readonly engine: number; readonly config: EngineConfig }
  | { readonly type: "peers"; readonly engine: number; readonly peers: readonly ProbePeer[] }
  | {
      readonly type: "keys";
      readonly engine: number;
      readonly keys: readonly PacketKey[];
      readonly signingKeyId: number;
    }
  | { readonly type: "pace"; readonly factor: number }
  | { readonly type: "close"; readonly engine: number };

export type FromWorker =
  /** `reason`: why kernel sockets cannot be used; null if they are used. */
  | { readonly type: "ready"; readonly sockets: "kernel" | "node"; readonly reason: string | null }
  | { readonly type: "opened"; readonly engine: number }
  | { readonly type: "failed"; readonly engine: number; readonly message: string }
  | { readonly type: "snapshot"; readonly engine: number; readonly snapshot: EngineSnapshot }
  | { readonly type: "closed"; readonly engine: number }
  | { readonly type: "fault"; readonly message: string };
