"""The page that says which facts and prices are the user's own."""

from clusterwright.outputs.folder import File, text
from clusterwright.outputs.markdown import cell
from clusterwright.plan.record import Plan
from clusterwright.plan.text.words import own_facts_lines


def own_parts(plan: Plan) -> dict[str, File]:
    """Return the page of the user's own facts and prices by its name; nothing where there are none."""
    prices = [f"{one.sku}: {one.usd:,.2f} USD ({one.source})" for one in plan.quotes if not one.vendor]
    lines = [*own_facts_lines(plan), *prices]
    if not lines:
        return {}
    head = [f"# Own parts of {plan.name}", "", "These stand in the place of the catalogue's facts and prices:", ""]
    return {"own_parts.md": text("\n".join([*head, *(f"- {cell(line)}" for line in lines)]))}
