//! The bytes of a prior file.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use sordino_core::math::read_all_le;

use super::error::{PriorFileError, refuse};
use super::label::Label;
use super::signed::Signed;
use crate::hex::hex;

/// Which files these are, and their version.
pub(super) const FORMAT: &str = "sordino prior 1";
/// The longest header that is read.
const HEADER_MAX: usize = 1 << 20;
/// Entries of the header beside the tensors.
const METADATA: [&str; 5] = ["format", "digest", "label", "key", "signature"];
/// Tensors in the order in which their numbers stand.
const TENSORS: [&str; 3] = ["landmarks", "weights", "covariance"];

/// The text of a label, as the file has it.
pub(super) fn label_text(label: &Label) -> String {
    // A label is numbers and texts: it always has one.
    serde_json::to_string(label).unwrap_or_default()
}

/// All tensors, little-endian.
pub(super) fn data(tensors: [&[f32]; 3]) -> Vec<u8> {
    tensors
        .into_iter()
        .flatten()
        .flat_map(|x| x.to_le_bytes())
        .collect()
}

/// SHA-256 of label and tensors, hexadecimal.
pub(super) fn digest(label: &str, data: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(label.as_bytes());
    hash.update(data);
    hex(&hash.finalize())
}

/// The header as it is written; the order of its entries is part of the bytes.
#[derive(Serialize)]
struct Header<'a> {
    #[serde(rename = "__metadata__")]
    metadata: Metadata<'a>,
    landmarks: Tensor,
    weights: Tensor,
    covariance: Tensor,
}

#[derive(Serialize)]
struct Metadata<'a> {
    format: &'a str,
    digest: &'a str,
    label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
}

#[derive(Serialize)]
struct Tensor {
    dtype: &'static str,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

pub(super) fn write(label: &Label, tensors: [&[f32]; 3], signed: Option<&Signed>) -> Vec<u8> {
    let label = label_text(label);
    let data = data(tensors);
    let [coordinates, m, packed] = tensors.map(<[f32]>::len);
    let mut begin = 0;
    let mut tensor = |shape: &[usize]| {
        let end = begin + 4 * shape.iter().product::<usize>();
        Tensor {
            dtype: "F32",
            shape: shape.to_vec(),
            data_offsets: [std::mem::replace(&mut begin, end), end],
        }
    };
    let header = Header {
        metadata: Metadata {
            format: FORMAT,
            digest: &digest(&label, &data),
            label: &label,
            key: signed.map(|signed| hex(&signed.public_key)),
            signature: signed.map(|signed| hex(&signed.signature)),
        },
        landmarks: tensor(&[m, coordinates / m.max(1)]),
        weights: tensor(&[m]),
        covariance: tensor(&[packed]),
    };
    // Texts and numbers: it always has a text.
    let mut text = serde_json::to_string(&header).unwrap_or_default();
    // The numbers begin at a multiple of eight bytes.
    while !text.len().is_multiple_of(8) {
        text.push(' ');
    }
    let length = (text.len() as u64).to_le_bytes();
    [&length[..], text.as_bytes(), &data].concat()
}

/// What a file has, nothing of it checked but its digest and its signature.
pub(super) struct Content {
    pub(super) label: Label,
    /// In the order of the file.
    pub(super) tensors: [Vec<f32>; 3],
    pub(super) signed: Option<Signed>,
}

/// What is in these bytes.
pub(super) fn read(bytes: &[u8]) -> Result<Content, PriorFileError> {
    let (header, data) = header(bytes)?;
    let metadata = header.get("__metadata__").and_then(Value::as_object);
    let text = |key: &str| {
        metadata
            .and_then(|metadata| metadata.get(key))
            .and_then(Value::as_str)
    };
    match text("format") {
        Some(FORMAT) => {}
        Some(other) => return Err(refuse("format", format!("{other:?}"), FORMAT)),
        None => return Err(refuse("format", "missing", FORMAT)),
    }
    check_length(&header, data.len())?;
    let label = text("label").ok_or_else(|| refuse("label", "missing", "a label as JSON"))?;
    let digest = digest(label, data);
    match text("digest") {
        Some(found) if found == digest => {}
        found => {
            let expected = format!(
                "{digest}, the SHA-256 of label and tensors: the file was changed or damaged"
            );
            return Err(refuse("digest", found.unwrap_or("missing"), &expected));
        }
    }
    let signed = match (text("key"), text("signature")) {
        (None, None) => None,
        (key, signature) => Some(Signed::read(FORMAT, key, signature, &digest)?),
    };
    if let Some(name) = metadata
        .into_iter()
        .flat_map(Map::keys)
        .find(|name| !METADATA.contains(&name.as_str()))
    {
        return Err(refuse(
            "an entry of __metadata__",
            name,
            &METADATA.join(", "),
        ));
    }
    let written = label;
    let label: Label = serde_json::from_str(label)
        .map_err(|error| refuse("label", error, "the entries of a label"))?;
    if label_text(&label) != written {
        return Err(refuse(
            "label",
            "written otherwise",
            "its entries in their order, without spaces",
        ));
    }
    let known = TENSORS.iter().chain(&["__metadata__"]);
    if let Some(name) = header
        .keys()
        .find(|name| !known.clone().any(|known| known == name))
    {
        return Err(refuse("a tensor", name, "landmarks, weights, covariance"));
    }
    let mut numbers = Tensors {
        header: &header,
        data,
        begin: 0,
    };
    let m = numbers.len("weights")?;
    let landmarks = numbers.len("landmarks")?;
    let landmarks = numbers.next("landmarks", &[m, landmarks / m.max(1)])?;
    let weights = numbers.next("weights", &[m])?;
    let covariance = numbers.len("covariance")?;
    let covariance = numbers.next("covariance", &[covariance])?;
    if numbers.begin != data.len() {
        return Err(refuse(
            "bytes behind the tensors",
            data.len() - numbers.begin,
            "0",
        ));
    }
    Ok(Content {
        label,
        tensors: [landmarks, weights, covariance],
        signed,
    })
}

/// Refuses a file that ends too early, by both lengths.
fn check_length(header: &Map<String, Value>, found: usize) -> Result<(), PriorFileError> {
    let expected = header
        .values()
        .filter_map(|tensor| tensor.get("data_offsets")?.as_array()?.last()?.as_u64())
        .max()
        .unwrap_or(0);
    if (found as u64) < expected {
        return Err(refuse(
            "length of the tensors",
            format!("{found} bytes"),
            &format!("{expected}: the file was cut off"),
        ));
    }
    Ok(())
}

/// Header and tensors of a file.
fn header(bytes: &[u8]) -> Result<(Map<String, Value>, &[u8]), PriorFileError> {
    let Some((length, rest)) = bytes.split_first_chunk::<8>() else {
        return Err(refuse(
            "length of the file",
            bytes.len(),
            "8 bytes and more",
        ));
    };
    if rest.first().is_some_and(|byte| *byte != b'{') {
        return Err(refuse(
            "the file",
            "another one",
            "a prior file, as `sordino prior publish` writes it",
        ));
    }
    let length = u64::from_le_bytes(*length);
    let admissible = HEADER_MAX.min(rest.len());
    let Some((text, data)) = usize::try_from(length)
        .ok()
        .filter(|n| *n <= admissible)
        .map(|n| rest.split_at(n))
    else {
        return Err(refuse(
            "length of the header",
            length,
            &format!("0 to {admissible}"),
        ));
    };
    match serde_json::from_slice(text) {
        // An entry that stands twice, or space between entries, makes the text longer than what was
        // read of it.
        Ok(Value::Object(header))
            if Value::from(header.clone()).to_string().len() == text.trim_ascii_end().len() =>
        {
            Ok((header, data))
        }
        Ok(Value::Object(_)) => Err(refuse(
            "the header",
            "longer than its entries",
            "every entry once, without spaces",
        )),
        Ok(_) => Err(refuse("the header", "another JSON value", "an object")),
        Err(error) => Err(refuse("the header", error, "JSON")),
    }
}

/// The tensors of a file, one behind the other without a gap.
struct Tensors<'a> {
    header: &'a Map<String, Value>,
    data: &'a [u8],
    begin: usize,
}

impl Tensors<'_> {
    fn tensor(&self, name: &str) -> Result<&Value, PriorFileError> {
        self.header
            .get(name)
            .ok_or_else(|| refuse(name, "missing", "a tensor"))
    }

    fn whole(tensor: &Value, key: &str) -> Option<Vec<usize>> {
        let numbers = tensor.get(key)?.as_array()?.iter();
        numbers
            .map(|x| x.as_u64().and_then(|x| usize::try_from(x).ok()))
            .collect()
    }

    /// Numbers of a tensor, as its shape says.
    fn len(&self, name: &str) -> Result<usize, PriorFileError> {
        let tensor = self.tensor(name)?;
        let shape = Self::whole(tensor, "shape").filter(|shape| !shape.is_empty());
        let count = shape.and_then(|shape| {
            shape
                .iter()
                .try_fold(1usize, |count, n| count.checked_mul(*n))
        });
        count.ok_or_else(|| {
            refuse(
                &format!("place of {name}"),
                &tensor["shape"],
                "whole numbers, within the file",
            )
        })
    }

    /// The numbers of the next tensor, which has this shape.
    fn next(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, PriorFileError> {
        let tensor = self.tensor(name)?;
        if tensor.get("dtype").and_then(Value::as_str) != Some("F32") {
            return Err(refuse(
                &format!("dtype of {name}"),
                &tensor["dtype"],
                "\"F32\"",
            ));
        }
        let found = Self::whole(tensor, "shape").filter(|found| found == shape);
        let bytes = found.and(self.len(name)?.checked_mul(4));
        let end = bytes
            .and_then(|bytes| self.begin.checked_add(bytes))
            .filter(|end| *end <= self.data.len());
        let Some(end) =
            end.filter(|end| Self::whole(tensor, "data_offsets") == Some(vec![self.begin, *end]))
        else {
            let found = format!("{} at {}", tensor["shape"], tensor["data_offsets"]);
            let admissible = format!("{shape:?}, tensors without a gap, within the file");
            return Err(refuse(&format!("place of {name}"), found, &admissible));
        };
        let bytes = &self.data[self.begin..end];
        self.begin = end;
        Ok(read_all_le(bytes).collect())
    }
}
