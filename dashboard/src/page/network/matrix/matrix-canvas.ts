// The matrix's canvas: viewport, pointer and keyboard handling; draws at most once per frame.
import type { Theme } from "../../model/scale.ts";
import { found } from "../../model/search.ts";
import type { Picture } from "../../state/reader.ts";
import type { Grid } from "../../model/grid.ts";
import { marginsOf, NAME_ROOM, rowNames } from "./paint-names.ts";
import { paint, patternsOf } from "./paint.ts";
import type { Cell, Margins, Patterns } from "./scene.ts";
import { cellAt, fitted, held, panned, showing, zoomed, type Field, type Viewport } from "./viewport.ts";

export interface Point {
  readonly x: number;
  readonly y: number;
}

interface MatrixEvents {
  readonly onCell: (cell: Cell | null, at: Point) => void;
  readonly onOpen: (cell: Cell) => void;
  readonly onGone: (picture: Picture) => void;
}

const NOWHERE: Point = { x: 0, y: 0 };
const WHEEL_STEP = 0.0016;
const MOST_FOUND = 24;
const READABLE = 16;
const MAX_HEIGHT_SHARE = 0.82;
const CLICK_SLOP = 4;

export class MatrixCanvas {
  readonly #canvas: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D;
  readonly #events: MatrixEvents;
  readonly #pointers = new Map<number, { x: number; y: number }>();
  readonly #gone = new AbortController();
  #picture: Picture | null = null;
  #names: readonly string[] = [];
  #measured: { readonly labels: readonly string[]; readonly bands: string; readonly width: number } | null =
    null;
  #patterns: Patterns = { estimated: null, scarce: null };
  #patternsTheme: Theme | null = null;
  #wanted = "";
  #found: ReadonlySet<number> = new Set();
  #margins: Margins = { left: 80, top: 80 };
  #field: Field = { width: 100, height: 100 };
  #view: Viewport = { scale: 1, x: 0, y: 0 };
  #isFitted = true;
  #cursor: Cell | null = null;
  #pointedAt: Point = NOWHERE;
  #frame = 0;
  #moved = 0;

  constructor(canvas: HTMLCanvasElement, events: MatrixEvents) {
    this.#canvas = canvas;
    this.#context = canvas.getContext("2d")!;
    this.#events = events;
    const { signal } = this.#gone;
    canvas.addEventListener("wheel", (event) => this.#onWheel(event), { signal, passive: false });
    canvas.addEventListener("pointerdown", (event) => this.#onDown(event), { signal });
    canvas.addEventListener("pointermove", (event) => this.#onMove(event), { signal });
    canvas.addEventListener("pointerup", (event) => this.#onUp(event), { signal });
    canvas.addEventListener("pointercancel", (event) => this.#pointers.delete(event.pointerId), { signal });
    canvas.addEventListener("pointerleave", () => this.#point(null, NOWHERE), { signal });
    canvas.addEventListener("keydown", (event) => this.#onKey(event), { signal });
    const observer = new ResizeObserver(() => this.#resize());
    observer.observe(canvas.parentElement!);
    signal.addEventListener("abort", () => observer.disconnect());
  }

  get isFitted(): boolean {
    return this.#isFitted;
  }

  show(picture: Picture): void {
    const previous = this.#picture;
    const before = previous?.grid;
    this.#picture = picture;
    const { grid } = picture;
    if (before?.size !== grid.size || before.level !== grid.level) {
      this.#point(null, NOWHERE);
      this.#isFitted = true;
    }
    this.#resize();
    if (this.#cursor !== null) this.#events.onCell(this.#cursor, this.#pointedAt);
    if (previous !== null) {
      previous.bitmap?.close();
      this.#events.onGone(previous);
    }
    performance.mark("isochrone-matrix-shown", { detail: { version: picture.version, size: grid.size } });
  }

  fit(): void {
    this.#isFitted = true;
    this.#resize();
  }

  zoom(factor: number): void {
    this.#zoomAt(factor, { x: this.#field.width / 2, y: this.#field.height / 2 });
  }

  find(text: string): void {
    this.#wanted = text;
    this.#found = new Set(found(this.#picture?.grid.labels ?? [], text, MOST_FOUND));
    this.#draw();
  }

  goToFound(): void {
    const [row] = this.#found;
    if (row === undefined) return;
    if (this.#view.scale < NAME_ROOM) this.zoom(READABLE / this.#view.scale);
    this.#goTo({ row, column: row });
  }

  close(): void {
    this.#gone.abort();
    cancelAnimationFrame(this.#frame);
  }

  #resize(): void {
    if (this.#picture === null) return;
    const { grid, theme } = this.#picture;
    const width = this.#canvas.parentElement!.clientWidth;
    this.#measureNames(grid, width);
    const room = { width: width - this.#margins.left, height: Math.max(320, innerHeight * MAX_HEIGHT_SHARE) };
    const fit = fitted(grid.size, {
      width: room.width,
      height: Math.max(room.height, Math.min(room.width, 500)),
    });
    const side = fit.scale * grid.size;
    this.#field = { width: room.width, height: Math.ceil(side) };
    this.#view = this.#isFitted ? fit : held(this.#view, grid.size, this.#field);
    const ratio = devicePixelRatio || 1;
    const height = this.#field.height + this.#margins.top;
    const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
    // Resizing reallocates the canvas, which is slow.
    if (this.#canvas.width !== wide || this.#canvas.height !== tall) {
      this.#canvas.width = wide;
      this.#canvas.height = tall;
      this.#canvas.style.width = `${width}px`;
      this.#canvas.style.height = `${height}px`;
    }
    // Exposes the cells' origin for pixel tests.
    this.#canvas.dataset["margin"] = String(this.#margins.left);
    if (this.#patternsTheme !== theme) {
      this.#patterns = patternsOf(this.#context, theme);
      this.#patternsTheme = theme;
    }
    // A resized canvas is empty: repaint in the same frame to avoid flicker.
    this.#paint();
  }

  /** Shortens and measures a thousand names only when they or their room changed. */
  #measureNames(grid: Grid, width: number): void {
    const measured = this.#measured;
    const bands = grid.bands.map(({ label }) => label).join("\n");
    if (measured?.labels === grid.labels && measured.bands === bands && measured.width === width) return;
    this.#measured = { labels: grid.labels, bands, width };
    this.#found = new Set(found(grid.labels, this.#wanted, MOST_FOUND));
    this.#names = rowNames(grid, width < 520);
    this.#margins = marginsOf(this.#context, grid, this.#names, width);
  }

  #draw(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#paint());
  }

  #paint(): void {
    const picture = this.#picture;
    if (picture === null || picture.bitmap === null) return;
    const ratio = devicePixelRatio || 1;
    this.#context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(this.#context, {
      grid: picture.grid,
      picture: picture.bitmap,
      names: this.#names,
      margins: this.#margins,
      field: this.#field,
      view: this.#view,
      theme: picture.theme,
      cursor: this.#cursor,
      found: this.#found,
      patterns: this.#patterns,
    });
  }

  #size(): number {
    return this.#picture?.grid.size ?? 0;
  }

  #zoomAt(factor: number, at: { readonly x: number; readonly y: number }): void {
    this.#view = zoomed(this.#view, factor, at, this.#size(), this.#field);
    this.#isFitted = this.#view.scale <= fitted(this.#size(), this.#field).scale * 1.001;
    this.#canvas.classList.toggle("is-near", !this.#isFitted);
    this.#draw();
  }

  #at(event: { readonly offsetX: number; readonly offsetY: number }): { x: number; y: number } {
    return { x: event.offsetX - this.#margins.left, y: event.offsetY - this.#margins.top };
  }

  /** The wheel scrolls the page if everything is visible at a readable size. */
  #onWheel(event: WheelEvent): void {
    if (this.#isFitted && this.#view.scale >= 24 && !event.ctrlKey) return;
    if (this.#isFitted && event.deltaY > 0 && !event.ctrlKey) return;
    event.preventDefault();
    this.#zoomAt(Math.exp(-event.deltaY * WHEEL_STEP * (event.ctrlKey ? 4 : 1)), this.#at(event));
  }

  #onDown(event: PointerEvent): void {
    this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.#moved = 0;
    if (!this.#isFitted) this.#canvas.setPointerCapture(event.pointerId);
  }

  #onMove(event: PointerEvent): void {
    const before = this.#pointers.get(event.pointerId);
    if (before === undefined)
      return this.#point(cellAt(this.#view, this.#at(event), this.#size()), {
        x: event.offsetX,
        y: event.offsetY,
      });
    const [dx, dy] = [event.clientX - before.x, event.clientY - before.y];
    this.#moved += Math.abs(dx) + Math.abs(dy);
    this.#pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other !== undefined) {
      const was = Math.hypot(before.x - other.x, before.y - other.y);
      const is = Math.hypot(event.clientX - other.x, event.clientY - other.y);
      if (was > 0) this.#zoomAt(is / was, this.#at(event));
      return;
    }
    if (this.#isFitted) return;
    this.#point(null, NOWHERE);
    this.#view = panned(this.#view, dx, dy, this.#size(), this.#field);
    this.#draw();
  }

  #onUp(event: PointerEvent): void {
    const isClick = this.#pointers.delete(event.pointerId) && this.#moved < CLICK_SLOP;
    const cell = cellAt(this.#view, this.#at(event), this.#size());
    if (isClick && cell !== null) this.#events.onOpen(cell);
  }

  #onKey(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    if (step !== undefined) {
      const size = this.#size();
      const { row, column } = this.#cursor ?? { row: -Math.sign(step[0]), column: -Math.sign(step[1]) };
      const within = (value: number): number => Math.min(Math.max(value, 0), size - 1);
      const cell = { row: within(row + step[0]), column: within(column + step[1]) };
      this.#goTo(cell);
    } else if (event.key === "Enter" && this.#cursor !== null) this.#events.onOpen(this.#cursor);
    else if (event.key === "+" || event.key === "=") this.zoom(1.5);
    else if (event.key === "-") this.zoom(1 / 1.5);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }

  #goTo(cell: Cell): void {
    this.#view = showing(this.#view, cell, this.#size(), this.#field);
    const { x, y, scale } = this.#view;
    this.#point(cell, {
      x: this.#margins.left + x + (cell.column + 0.5) * scale,
      y: this.#margins.top + y + (cell.row + 0.5) * scale,
    });
  }

  #point(cell: Cell | null, at: Point): void {
    const before = this.#cursor;
    this.#cursor = cell;
    this.#pointedAt = at;
    if (cell !== null || before !== null) this.#events.onCell(cell, at);
    if (cell?.row !== before?.row || cell?.column !== before?.column) this.#draw();
  }
}

const STEPS: Readonly<Record<string, readonly [row: number, column: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
};
