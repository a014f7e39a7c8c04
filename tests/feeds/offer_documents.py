"""Offer files of AWS in their real forms, CSV and JSON, made of the same few products."""

import csv
import json
from pathlib import Path
from typing import Any

METADATA = (
    '"FormatVersion","v1.0"\n"Disclaimer","x"\n"Publication Date","2026-10-01T20:00:00Z"\n"Version","1"\n'
    '"OfferCode","AmazonEC2"\n'
)
#: Columns of the CSV form by the name of an attribute in JSON.
COLUMNS = {
    "sku": "SKU",
    "offerTermCode": "OfferTermCode",
    "rateCode": "RateCode",
    "termType": "TermType",
    "description": "PriceDescription",
    "effectiveDate": "EffectiveDate",
    "beginRange": "StartingRange",
    "endRange": "EndingRange",
    "unit": "Unit",
    "price": "PricePerUnit",
    "currency": "Currency",
    "LeaseContractLength": "LeaseContractLength",
    "PurchaseOption": "PurchaseOption",
    "OfferingClass": "OfferingClass",
    "productFamily": "Product Family",
    "servicecode": "serviceCode",
    "location": "Location",
    "locationType": "Location Type",
    "instanceType": "Instance Type",
    "tenancy": "Tenancy",
    "operatingSystem": "Operating System",
    "licenseModel": "License Model",
    "volumeApiName": "Volume API Name",
    "transferType": "Transfer Type",
    "fromLocation": "From Location",
    "fromLocationType": "From Location Type",
    "fromRegionCode": "From Region Code",
    "toLocation": "To Location",
    "usagetype": "usageType",
    "operation": "operation",
    "capacitystatus": "CapacityStatus",
    "preInstalledSw": "Pre Installed S/W",
    "fileSystemType": "File System Type",
    "storageType": "Storage Type",
    "throughputCapacity": "Throughput Capacity",
    "marketoption": "MarketOption",
    "regionCode": "Region Code",
}
_PRICE = (
    "sku",
    "offerTermCode",
    "rateCode",
    "termType",
    "description",
    "effectiveDate",
    "beginRange",
    "endRange",
    "unit",
    "price",
    "currency",
)
_TERM = ("LeaseContractLength", "PurchaseOption", "OfferingClass")
INSTANCE = {
    "productFamily": "Compute Instance",
    "servicecode": "AmazonEC2",
    "location": "US East (N. Virginia)",
    "locationType": "AWS Region",
    "instanceType": "p4d.24xlarge",
    "tenancy": "Shared",
    "operatingSystem": "Linux",
    "licenseModel": "No License required",
    "usagetype": "BoxUsage:p4d.24xlarge",
    "operation": "RunInstances",
    "capacitystatus": "Used",
    "preInstalledSw": "NA",
    "marketoption": "OnDemand",
    "regionCode": "us-east-1",
}


def row(price: str, unit: str = "Hrs", **said: str) -> dict[str, str]:
    """Return one row: a price of a product, the instance above unless another one is said."""
    code = f"{said.get('sku', 'H7NGEAC6UEHNTKSJ')}.{said.get('offerTermCode', 'JRTCKXETXF')}"
    return {
        "sku": "H7NGEAC6UEHNTKSJ",
        "offerTermCode": "JRTCKXETXF",
        "termType": "OnDemand",
        "unit": unit,
        "price": price,
        "rateCode": f"{code}.{unit}.{said.get('beginRange', '0')}",
        "effectiveDate": "2026-10-01",
        "currency": "USD",
        "beginRange": "0",
        "endRange": "Inf",
    } | (said if "productFamily" in said else INSTANCE | said)


def write_csv(path: Path, rows: list[dict[str, str]], *, encoding: str = "utf-8") -> Path:
    """Write rows as AWS's CSV: all cells in quotes behind five lines of metadata."""
    with path.open("w", encoding=encoding, newline="") as file:
        file.write(METADATA)
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(COLUMNS.values())
        writer.writerows([entry.get(name, "") for name in COLUMNS] for entry in rows)
    return path


def write_json(path: Path, rows: list[dict[str, str]]) -> Path:
    """Write rows as AWS's JSON: products, and terms with their dimensions."""
    products: dict[str, Any] = {}
    terms: dict[str, Any] = {"OnDemand": {}, "Reserved": {}}
    for entry in rows:
        attributes = {name: value for name, value in entry.items() if name not in (*_PRICE, *_TERM, "productFamily")}
        products[entry["sku"]] = {
            "sku": entry["sku"],
            "productFamily": entry["productFamily"],
            "attributes": attributes,
        }
        offers = terms[entry["termType"]].setdefault(entry["sku"], {})
        offer = offers.setdefault(
            f"{entry['sku']}.{entry['offerTermCode']}",
            {
                "offerTermCode": entry["offerTermCode"],
                "sku": entry["sku"],
                "priceDimensions": {},
                "effectiveDate": f"{entry['effectiveDate']}T00:00:00Z",
                "termAttributes": {name: entry[name] for name in _TERM if name in entry},
            },
        )
        offer["priceDimensions"][entry["rateCode"]] = {
            "rateCode": entry["rateCode"],
            "unit": entry["unit"],
            "beginRange": entry["beginRange"],
            "endRange": entry["endRange"],
            "pricePerUnit": {entry["currency"]: entry["price"]},
        }
    document = {"formatVersion": "v1.0", "offerCode": "AmazonEC2", "products": products, "terms": terms}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
