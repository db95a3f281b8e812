/** What a drawn graph is that one looks at: it is moved and zoomed, and nothing of it is dragged, joined or selected. */
export const LOOKED_AT = {
    maxZoom: 1.6,
    nodesDraggable: false,
    nodesConnectable: false,
    nodesFocusable: false,
    edgesFocusable: false,
    elementsSelectable: false,
    onlyRenderVisibleElements: true,
} as const;
