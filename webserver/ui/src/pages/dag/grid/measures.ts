/** The side of a cell, in pixels; `grid.module.css` has the same. */
export const CELL = 24;
/** The height of what stands above the cells. */
export const HEAD = 92;
/** How many rows are drawn or left out together. */
export const BLOCK = 8;
/** Room at the right of the newest run, for the words above it. */
export const END = 40;
