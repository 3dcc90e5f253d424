import type { ClusterColumns } from "@isochrone/topology";
import { reasonOf } from "@isochrone/primitives";
import { clusterViewOf, type ClusterView } from "../model/cluster-view.ts";
import { packGrid, packView, type PackedGrid, type PackedView } from "../model/packed.ts";
import type { Level, Quantity } from "../model/route.ts";
import type { Theme } from "../model/scale.ts";
import { gridOf, type Spent } from "../model/grid.ts";
import { pixelsOf } from "../model/pixels.ts";
import { digestOf } from "../model/summary.ts";

export interface ViewRequest {
  readonly kind: "view";
  readonly id: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly patienceMs: number;
}

export interface PictureRequest {
  readonly kind: "picture";
  readonly id: number;
  readonly quantity: Quantity;
  readonly level: Level;
  readonly theme: Theme;
  readonly spent: Spent | null;
}

export interface PackedPicture {
  readonly version: number;
  readonly theme: Theme;
  readonly grid: PackedGrid;
  readonly bitmap: ImageBitmap | null;
}

export type WorkerAnswer =
  | { readonly id: number; readonly view: PackedView }
  | { readonly id: number; readonly status: number; readonly text: string }
  | { readonly id: number; readonly picture: PackedPicture | null }
  | { readonly id: number; readonly fault: string; readonly kind: FaultKind };

type FaultKind = "unreachable" | "timeout" | "other";

interface WorkerScope {
  addEventListener(
    type: "message",
    listener: (event: MessageEvent<ViewRequest | PictureRequest>) => void,
  ): void;
  postMessage(message: WorkerAnswer, transfer: Transferable[]): void;
}

const scope = globalThis as unknown as WorkerScope;
let view: ClusterView | null = null;

scope.addEventListener("message", ({ data }) => {
  const done = data.kind === "view" ? read(data) : draw(data);
  done.catch((error: unknown) => {
    const fault = reasonOf(error);
    scope.postMessage({ id: data.id, fault, kind: kindOf(error) }, []);
  });
});

function kindOf(error: unknown): FaultKind {
  if (error instanceof TypeError) return "unreachable";
  return error instanceof DOMException && error.name === "TimeoutError" ? "timeout" : "other";
}

/** Parses megabytes of large clusters off the main thread. */
async function read({ id, url, headers, patienceMs }: ViewRequest): Promise<void> {
  const response = await fetch(url, { headers, signal: AbortSignal.timeout(patienceMs) });
  if (!response.ok)
    return scope.postMessage({ id, status: response.status, text: await response.text() }, []);
  view = clusterViewOf((await response.json()) as ClusterColumns);
  const { packed, moved } = packView(view, digestOf(view));
  scope.postMessage({ id, view: packed }, moved);
}

async function draw({ id, quantity, level, theme, spent }: PictureRequest): Promise<void> {
  if (view === null) return scope.postMessage({ id, picture: null }, []);
  const { version } = view;
  const grid = gridOf(view, quantity, level, spent);
  const bitmap =
    grid.size === 0 ? null : await createImageBitmap(new ImageData(pixelsOf(grid, theme), grid.size));
  const { packed, moved } = packGrid(grid);
  scope.postMessage(
    { id, picture: { version, theme, grid: packed, bitmap } },
    bitmap === null ? moved : [...moved, bitmap],
  );
}
