// What the main thread and the measuring thread say to each other.
import type { EngineConfig, EngineSnapshot, ProbePeer } from "../ports.ts";

export type ToWorker =
  | { readonly type: "open"; readonly engine: number; readonly config: EngineConfig }
  | { readonly type: "peers"; readonly engine: number; readonly peers: readonly ProbePeer[] }
  | { readonly type: "close"; readonly engine: number };

export type FromWorker =
  | { readonly type: "opened"; readonly engine: number; readonly udpPort: number; readonly tcpPort: number }
  | { readonly type: "failed"; readonly engine: number; readonly message: string; readonly errno: string }
  | { readonly type: "snapshot"; readonly engine: number; readonly snapshot: EngineSnapshot }
  | { readonly type: "closed"; readonly engine: number }
  /** Something went wrong in one task; the thread goes on. */
  | { readonly type: "fault"; readonly message: string };
